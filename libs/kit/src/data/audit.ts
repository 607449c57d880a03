import type { Clock } from '../clock.ts';
import { ulid } from '../ids.ts';
import type { Random } from '../ids.ts';
import { withoutTokens } from '../log-text.ts';

/** One audit event. Names are those of the audit reference; never a secret, token, code, password or raw login hint. */
export interface AuditEvent {
  /** For example `refresh.rotated`. */
  readonly event: string;
  readonly outcome: 'success' | 'failure';
  /** From a closed list, for example `wrong_password`. */
  readonly reason?: string;
  readonly tenantId?: string;
  readonly actor?: { readonly type: 'user' | 'client' | 'operator' | 'system'; readonly id: string };
  readonly subject?: string;
  readonly clientId?: string;
  readonly sessionId?: string;
  /** Refresh family or other grant. */
  readonly grantId?: string;
  readonly requestId?: string;
  readonly ipAddress?: string;
  readonly userAgentHash?: string;
  readonly details?: Readonly<Record<string, string>>;
}

/** The columns of `audit_event`, ready as parameters of a statement. */
export interface AuditRow {
  readonly eventId: string;
  readonly event: string;
  readonly tenantId: string | null;
  readonly outcome: string;
  readonly reason: string | null;
  /** JSON text of the whole event with its id and the time of this process. */
  readonly record: string;
}

const maxText = 512;
const maxDetails = 32;

/** An event as a row of `<schema>.audit_event`. Texts are bounded and made of printable characters only. */
export function auditRow(
  event: AuditEvent,
  kit: { readonly clock: Clock; readonly random: Random },
): AuditRow {
  const eventId = ulid(kit.clock, kit.random);
  const { details, actor, ...texts } = event;
  const record = {
    eventId,
    time: new Date(kit.clock.now()).toISOString(),
    ...cleanRecord(texts),
    ...(actor === undefined ? {} : { actor: cleanRecord({ ...actor }) }),
    ...(details === undefined ? {} : { details: cleanRecord(details) }),
  };
  return {
    eventId,
    event: cleanText(event.event),
    tenantId: event.tenantId === undefined ? null : cleanText(event.tenantId),
    outcome: event.outcome,
    reason: event.reason === undefined ? null : cleanText(event.reason),
    record: JSON.stringify(record),
  };
}

function cleanRecord(record: Readonly<Record<string, unknown>>): Record<string, string> {
  const result: Record<string, string> = {};
  let count = 0;
  for (const name of Object.keys(record)) {
    const value = record[name];
    if (typeof value !== 'string') continue;
    count += 1;
    if (count > maxDetails) break;
    result[cleanText(name)] = cleanText(value);
  }
  return result;
}

/** What `cleanText` leaves alone: nearly every text, so that one look is all that most cost. */
const isClean = /^[\x20-\x7e\xa0-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\uffff]*$/;

/** One look that tells nearly every text apart from those with a token in them. */
const mayHoldToken = /eyJ|\bt[a-z]_/;

/**
 * Control characters, marks that reorder text and lone surrogates become U+FFFD; `jsonb` would refuse some of them. Reasons
 * and messages are typed by people, who paste tokens.
 */
function cleanText(value: string): string {
  const text = mayHoldToken.test(value) ? withoutTokens(value) : value;
  if (text.length <= maxText && isClean.test(text)) return text;
  return text
    .slice(0, maxText)
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}
