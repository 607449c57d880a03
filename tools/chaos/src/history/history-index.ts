import type { AuditRow, Fault, History, Operation } from './history.ts';

export const describe = ({ kind, actor, id, outcome }: Operation): string =>
  `${kind} of ${actor} (${id}, ${outcome.result} ${outcome.status} ${outcome.error ?? ''})`;

/** No response arrived, or one that leaves the outcome open. */
export const inDoubt = ({ outcome }: Operation): boolean =>
  outcome.result === 'lost' || outcome.result === 'unavailable';

export const isGood = ({ outcome }: Operation): boolean => outcome.result === 'good';

/** Indexes of a history. */
export class Index {
  readonly byId = new Map<string, Operation>();
  readonly byPresented = new Map<string, Operation[]>();
  readonly byBasis = new Map<string, Operation[]>();
  /** What ended, or may have ended, a basis. */
  readonly ends = new Map<string, Operation[]>();
  readonly deliveredBy = new Map<string, Operation>();
  readonly forgotten: readonly Fault[];
  /** Request ids whose grant is in the audit trail. */
  readonly committed: ReadonlySet<string>;

  constructor({ operations, faults }: History, audit: readonly AuditRow[]) {
    this.committed = new Set(audit.map(({ requestId }) => requestId));
    this.forgotten = faults.filter(({ type }) => type === 'forget');
    for (const operation of operations) {
      this.byId.set(operation.id, operation);
      if (operation.presented !== undefined) append(this.byPresented, operation.presented, operation);
      if (operation.basis !== undefined) append(this.byBasis, operation.basis, operation);
      for (const basis of operation.ends ?? []) append(this.ends, basis, operation);
      for (const { hash } of operation.delivered) {
        if (!this.deliveredBy.has(hash)) this.deliveredBy.set(hash, operation);
      }
    }
  }

  /** Whether Redis lost what was created at `before`, at some time until `after`. */
  forgot(before: number, after: number): boolean {
    return this.forgotten.some(({ from, until }) => before < until && after > from);
  }

  /** Whether something that may end the basis had started by then; a replayed code ends what it started. */
  mayHaveEnded(basis: string | undefined, by: number): boolean {
    if (basis === undefined) return false;
    if ((this.ends.get(basis) ?? []).some(({ startedAt }) => startedAt < by)) return true;
    const redemptions = (this.byBasis.get(basis) ?? []).filter(({ kind }) => kind === 'redeem');
    return redemptions.filter(({ startedAt }) => startedAt < by).length > 1;
  }

  /** Whether a refresh token was presented to be refreshed. */
  usedBefore(token: string | undefined, by: number): boolean {
    return (this.byPresented.get(token ?? '') ?? []).some(
      ({ kind, startedAt }) => kind === 'refresh' && startedAt < by,
    );
  }

  /** Whether the same value was presented before `operation` ended, by another request. */
  presentedElsewhere(operation: Operation): Operation[] {
    return (this.byPresented.get(operation.presented ?? '') ?? []).filter(
      (other) => other !== operation && other.kind === operation.kind && other.startedAt < operation.endedAt,
    );
  }
}

export function append<V>(map: Map<string, V[]>, key: string, value: V): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
