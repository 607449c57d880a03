import { ulid, type Clock, type Random } from '@tessera/kit';
import { firstCharacters, withoutTokens } from '@tessera/telemetry';

/** One audit event. Names are those of the audit reference; never a secret, token, code, password or raw login hint. */
export interface AuditEvent {
  /** For example `refresh.rotated`. */
  readonly event: string;
  readonly outcome: 'success' | 'failure';
  /** From a closed list, for example `wrong_password`. */
  readonly reason?: string;
  readonly tenantId?: string;
  readonly actor?: {
    readonly type: 'user' | 'client' | 'operator' | 'system';
    readonly id: string;
    /** Of an administrator, who may be of another tenant than what changed. */
    readonly tenantId?: string;
  };
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

/** A row of `<schema>.audit_event`; `auditInsert` reads its columns from the record. */
export interface AuditRow {
  readonly eventId: string;
  /** JSON text of the whole event with its id and the time of this process. */
  readonly record: string;
}

const maxText = 512;
const maxDetails = 32;

interface RowRuntime {
  readonly clock: Clock;
  readonly random: Random;
}

/** An event as a row of `<schema>.audit_event`. Texts are bounded and printable. */
export function auditRow(event: AuditEvent, runtime: RowRuntime): AuditRow {
  return rowOf(ulid(runtime.clock, runtime.random), event, runtime);
}

/** Events of one change as rows, whose identifiers have the order of the events, also within a millisecond. */
export function auditRows(events: readonly AuditEvent[], runtime: RowRuntime): AuditRow[] {
  const ids = events.map(() => ulid(runtime.clock, runtime.random)).toSorted();
  return events.map((event, at) => rowOf(ids[at] ?? '', event, runtime));
}

function rowOf(eventId: string, event: AuditEvent, runtime: RowRuntime): AuditRow {
  const { actor, details, ...texts } = event;
  const record = {
    eventId,
    time: new Date(runtime.clock.now()).toISOString(),
    ...clean(texts),
    ...(actor !== undefined && { actor: clean(actor) }),
    ...(details !== undefined && { details: clean(withCleanNames(details)) }),
  };
  return { eventId, record: JSON.stringify(record) };
}

/** The texts of a record; what is left out is not written. */
function clean(record: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  let left = maxDetails;
  for (const [name, text] of Object.entries(record)) {
    if (text === undefined) continue;
    texts[name] = cleanText(text);
    left -= 1;
    if (left === 0) break;
  }
  return texts;
}

function withCleanNames(details: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(details).map(([name, text]) => [cleanText(name), text]));
}

/** Characters that act on a screen, or that `jsonb` refuses. */
const unprintable = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Most texts have nothing but these, and one look at that costs less than the bounding and the replacing. */
const onlyAscii = /^[ -~]*$/;

/**
 * Bounds a text and replaces unprintable characters and lone surrogates with U+FFFD. Reasons and messages are typed by
 * people, who paste tokens: those are redacted.
 */
function cleanText(value: string): string {
  const text = withoutTokens(value);
  if (text.length <= maxText && onlyAscii.test(text)) return text;
  return firstCharacters(text, maxText).toWellFormed().replace(unprintable, '\ufffd');
}
