import { addressKey } from '@tessera/stores';
import type { Clock } from '@tessera/kit';
import type { AuditEvent } from './audit-row.ts';

/** Refusals of one kind from one address in one tenant that are recorded one by one within a window. */
const limit = 100;
const windowMs = 60_000;
/** Beyond this many kinds and addresses at once, what is left of a kind counts together. */
const maxWindows = 10_000;

interface Window {
  /** The last omitted event; the summary row takes their common fields from it. */
  last: AuditEvent | undefined;
  written: number;
  leftOut: number;
}

/**
 * Keeps refusals that cost their sender nothing from filling the audit trail: after the first hundred of one kind from
 * one address in a minute, the rest is one row that says how many there were. Each tenant has its own, so that a flood
 * in one hides nothing from another. What succeeded is never left out.
 */
export class AuditFloods {
  readonly #clock: Clock;
  #windows = new Map<string, Window>();
  #endsAt = 0;
  #hasLeftOut = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether an event is to be recorded by itself. */
  admits(event: AuditEvent): boolean {
    if (event.outcome !== 'failure' || (event.ipAddress ?? '') === '') return true;
    if (this.#windows.size === 0) this.#endsAt = this.#clock.now() + windowMs;
    const window = this.#windowOf(event);
    if (window.written < limit) {
      window.written += 1;
      return true;
    }
    window.leftOut += 1;
    this.#hasLeftOut = true;
    window.last = event;
    return false;
  }

  /** Whether there is something to summarise when the window ends. */
  get hasLeftOut(): boolean {
    return this.#hasLeftOut;
  }

  /** The rows that stand for what was left out; undefined while the window lasts, unless it is ended by `force`. */
  summarise(force = false): AuditEvent[] | undefined {
    if (!force && this.#clock.now() < this.#endsAt) return undefined;
    const windows = this.#windows;
    this.#windows = new Map();
    this.#hasLeftOut = false;
    return [...windows.values()].flatMap(({ last, leftOut }) =>
      last === undefined ? [] : [summary(last, leftOut)],
    );
  }

  #windowOf({ event, reason = '', tenantId = '', ipAddress = '' }: AuditEvent): Window {
    const kind = `${event}\0${reason}`;
    const own = `${kind}\0${tenantId}\0${addressKey(ipAddress)}`;
    const key = this.#windows.has(own) || this.#windows.size < maxWindows ? own : kind;
    const window = this.#windows.get(key) ?? { last: undefined, written: 0, leftOut: 0 };
    this.#windows.set(key, window);
    return window;
  }
}

function summary({ event, outcome, reason, tenantId, ipAddress }: AuditEvent, leftOut: number): AuditEvent {
  return {
    event,
    outcome,
    ...(reason !== undefined && { reason }),
    ...(tenantId !== undefined && { tenantId }),
    ...(ipAddress !== undefined && { ipAddress }),
    details: { alike: `${leftOut}` },
  };
}
