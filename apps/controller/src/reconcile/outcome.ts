import type { DiffDeclaredStateResponse } from '@tessera/admin-client';
import type { Condition, ShownImpact, Status, TesseraObject } from '../objects.ts';

type Said = Pick<Condition, 'status' | 'reason' | 'message'>;

/** What became of an object. */
export interface Outcome {
  readonly accepted: Said;
  readonly ready: Said;
  readonly facts?: Omit<Status, 'conditions' | 'observedGeneration'>;
}

/** Of a condition, in characters: what the API server takes is longer, what people read is shorter. */
const longestMessage = 4_000;

/** An outcome whose record could not be made, or not yet. */
export function refused(reason: string, text: string): Outcome {
  const message = text.slice(0, longestMessage);
  const said: Said = { status: 'False', reason, message };
  return { accepted: said, ready: said };
}

/** The status that says it, or undefined where the object says it already. */
export function statusAfter(
  { status = {}, metadata: { generation } }: TesseraObject,
  { accepted, ready, facts = {} }: Outcome,
  now: Date,
): Status | undefined {
  const before = status.conditions ?? [];
  const conditions = (
    [
      ['Accepted', accepted],
      ['Ready', ready],
    ] as const
  ).map(([type, said]): Condition => {
    const known = before.find((condition) => condition.type === type);
    const changedAt =
      known?.status === said.status && known.lastTransitionTime
        ? known.lastTransitionTime
        : now.toISOString();
    return { type, ...said, observedGeneration: generation, lastTransitionTime: changedAt };
  });
  const after: Status = { ...status, ...facts, observedGeneration: generation, conditions };
  return JSON.stringify(sorted(after)) === JSON.stringify(sorted(status)) ? undefined : after;
}

/** Whether somebody should be told: what is said of the object is another thing than before. */
export function isNews({ status }: TesseraObject, { ready }: Outcome): boolean {
  const known = status?.conditions?.find(({ type }) => type === 'Ready');
  return known?.reason !== ready.reason || known.message !== ready.message;
}

export function shownImpact(impact: DiffDeclaredStateResponse['impact']): ShownImpact {
  return {
    people: impact?.people ?? 0,
    sessions: impact?.sessions?.total ?? 0,
    refreshTokens: impact?.refreshFamilies?.total ?? 0,
    approvals: impact?.approvals?.total ?? 0,
    consents: impact?.consents?.total ?? 0,
  };
}

/** What of it people and applications lose. */
export function endedBy({ sessions, refreshTokens, approvals, consents }: ShownImpact): number {
  return sessions + refreshTokens + approvals + consents;
}

export function describeImpact(impact: ShownImpact): string {
  const counts = [
    [impact.sessions, 'sessions'],
    [impact.refreshTokens, 'refresh tokens'],
    [impact.approvals, 'waiting approvals'],
    [impact.consents, 'consents'],
  ] as const;
  const ended = counts.filter(([count]) => count > 0).map(([count, what]) => `${what}: ${count}`);
  return ended.length === 0 ? 'nothing' : ended.join(', ');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, part]) => part !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, part]) => [key, sorted(part)]),
  );
}
