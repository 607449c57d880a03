import { isoTime, type Clock, ulid } from '@tessera/kit';
import type { Random } from '@tessera/kit';
import { firstCharacters, withoutTokens } from '@tessera/telemetry';

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
  const { actor, details } = event;
  const about =
    (actor === undefined ? '' : `,"actor":{${membersOf(actor).slice(1)}}`) +
    (details === undefined ? '' : `,"details":{${membersOf(details).slice(1)}}`);
  return {
    eventId,
    event: cleanText(event.event),
    tenantId: event.tenantId === undefined ? null : cleanText(event.tenantId),
    outcome: event.outcome,
    reason: event.reason === undefined ? null : cleanText(event.reason),
    record: `{"eventId":"${eventId}","time":"${isoTime(kit.clock.now())}"${membersOf(event)}${about}}`,
  };
}

/** The texts of a record as members of a JSON object, each with a comma before it. Written here, as every token has a row. */
function membersOf(record: object): string {
  const texts = record as Readonly<Record<string, unknown>>;
  let members = '';
  let count = 0;
  for (const name of Object.keys(texts)) {
    const value = texts[name];
    if (typeof value !== 'string') continue;
    count += 1;
    if (count > maxDetails) break;
    members += `,${quoted(name)}:${quoted(value)}`;
  }
  return members;
}

/** What neither `cleanText` nor JSON leaves as it is, and a little more. Most texts have none of it, and one look is all they cost. */
const notPlain = /[^ !#-[\]-~]|eyJ|\bt[a-z]_/;

function quoted(text: string): string {
  const isPlain = text.length <= maxText && !notPlain.test(text);
  return isPlain ? `"${text}"` : JSON.stringify(cleanText(text));
}

/** What `cleanText` leaves alone. */
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
  return firstCharacters(text, maxText)
    .toWellFormed()
    .replace(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}
