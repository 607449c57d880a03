import { append, describe, inDoubt, Index, isGood } from './history-index.ts';
import type { AuditRow, History, Operation } from './history.ts';
import { steady } from './outages.ts';

/** A violated invariant: one of the rules of `CONTRIBUTING.md#fault-tests`. */
export interface Violation {
  readonly invariant: Invariant;
  readonly text: string;
}

export type Invariant = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'I9';

export interface Limits {
  /** How long a superseded refresh token still returns its successor, in milliseconds. */
  readonly retryWindowMs: number;
  /** Lifetime of a code. */
  readonly codeLifetimeMs: number;
  /** How long after its end a disabled person may still be served. */
  readonly disableDelayMs: number;
  /** Maximum time from the end of a fault to the first success of each kind of operation that worked before. */
  readonly recoveryMs: number;
  /** Age of audit rows in batches that may be lost with a killed process. */
  readonly lostAuditMs: number;
}

/** What the history is checked against. */
export interface Evidence {
  readonly audit: readonly AuditRow[];
  /** Number of secret values that appear in the output. */
  readonly leaks: number;
}

/** Every violation in a history of requests, responses and faults. */
export function check(history: History, evidence: Evidence, limits: Limits): Violation[] {
  const index = new Index(history, evidence.audit);
  return [
    ...oneGrant(index),
    ...oneLiveGeneration(index),
    ...nothingAfterTheEnd(index, limits),
    ...audited(history, index, evidence.audit, limits),
    ...published(history),
    ...noLies(history, index, limits),
    ...recovered(history, limits),
    ...(evidence.leaks === 0 ? [] : [broken('I8', `${evidence.leaks} secret values are in the output`)]),
    ...noneCrossed(history, index),
  ];
}

const broken = (invariant: Invariant, text: string): Violation => ({ invariant, text });

/** I1: each code, device_code and auth_req_id yields at most one grant. */
function* oneGrant({ byPresented }: Index): Generator<Violation> {
  for (const [value, operations] of byPresented) {
    const grants = operations.filter(
      (operation) => (operation.kind === 'redeem' || operation.kind === 'poll') && isGood(operation),
    );
    if (grants.length > 1)
      yield broken('I1', `${grants.length} grants for ${value}: ${grants.map(describe).join(', ')}`);
  }
}

/**
 * I2: a token has one successor, however often it is presented, and at most one token of a family is alive at the end.
 */
function* oneLiveGeneration({ byPresented, byBasis }: Index): Generator<Violation> {
  for (const [token, operations] of byPresented) {
    const successors = new Set(
      operations
        .filter(({ kind }) => kind === 'refresh')
        .flatMap(({ delivered }) =>
          delivered.filter(({ type }) => type === 'refresh').map(({ hash }) => hash),
        ),
    );
    if (successors.size > 1) yield broken('I2', `${successors.size} successors of ${token}`);
  }
  for (const [basis, operations] of byBasis) {
    const alive = new Set(
      operations
        .filter(
          (operation) => operation.sweep && operation.kind === 'introspect-refresh' && isGood(operation),
        )
        .map(({ presented }) => presented),
    );
    if (alive.size > 1) yield broken('I2', `${alive.size} live tokens of ${basis}`);
  }
}

const servedOnBasis = new Set(['refresh', 'introspect-refresh', 'authorize', 'redeem']);

/** I3: a request that starts after a confirmed end is not served. */
function* nothingAfterTheEnd({ ends, byBasis }: Index, limits: Limits): Generator<Violation> {
  for (const [basis, endings] of ends) {
    const confirmed = endings
      .filter(isGood)
      .map(({ kind, endedAt }) => endedAt + (kind === 'disable' ? limits.disableDelayMs : 0));
    const ended = Math.min(...confirmed);
    for (const operation of byBasis.get(basis) ?? []) {
      if (servedOnBasis.has(operation.kind) && isGood(operation) && operation.startedAt > ended)
        yield broken(
          'I3',
          `${describe(operation)} was served ${Math.round(operation.startedAt - ended)} ms after the end of ${basis}`,
        );
    }
  }
}

/**
 * I4: each delivered access token has one audit row of its request; a row without a token belongs to a lost response.
 */
function* audited(
  { faults, operations }: History,
  { byId }: Index,
  rows: readonly AuditRow[],
  { lostAuditMs }: Limits,
): Generator<Violation> {
  const byJti = new Map<string, AuditRow[]>();
  for (const row of rows) append(byJti, row.jti, row);
  const withdrawn = new Set(
    rows.filter(({ event }) => event === 'refresh.undelivered').map(({ requestId }) => requestId),
  );
  const delivered = new Map<string, Operation>();
  for (const operation of operations) {
    for (const { type, jti } of operation.delivered) {
      if (type === 'access' && jti !== undefined) delivered.set(jti, operation);
    }
  }
  for (const [jti, operation] of delivered) {
    const [row, ...more] = byJti.get(jti) ?? [];
    const diedWithProcess =
      operation.kind === 'client-credentials' &&
      faults.some(
        ({ type, from }) =>
          type === 'kill' &&
          operation.endedAt > from - lostAuditMs &&
          operation.startedAt < from + lostAuditMs,
      );
    if (row === undefined && !diedWithProcess) yield broken('I4', `${describe(operation)} has no audit row`);
    if (more.length > 0) yield broken('I4', `${describe(operation)} has ${more.length + 1} audit rows`);
    if (row !== undefined && row.requestId !== operation.id)
      yield broken('I4', `${describe(operation)} has the audit row of ${row.requestId}`);
    if (row !== undefined && row.tenant !== operation.tenant)
      yield broken('I9', `${describe(operation)} has an audit row of ${row.tenant}`);
  }
  for (const row of rows) {
    if (delivered.has(row.jti) || withdrawn.has(row.requestId)) continue;
    const operation = byId.get(row.requestId);
    if (operation === undefined || !inDoubt(operation))
      yield broken(
        'I4',
        `${row.event} of ${row.requestId} records a token that no client received${operation === undefined ? '' : `: ${describe(operation)}`}`,
      );
  }
}

/** I5: each delivered JWT verifies with a key that was published before and still is published. */
function* published({ operations }: History): Generator<Violation> {
  const last = operations.filter(({ published }) => published !== undefined).at(-1)?.published ?? [];
  for (const operation of operations) {
    for (const { type, verified, kid } of operation.delivered) {
      if (verified === false)
        yield broken('I5', `${describe(operation)} returned a ${type} token that does not verify`);
      if (kid !== undefined && !last.includes(kid))
        yield broken(
          'I5',
          `${describe(operation)} returned a ${type} token signed with a key that is no longer published`,
        );
    }
  }
}

/** I6: a correct client is served or asked to retry. */
function* noLies({ operations }: History, index: Index, limits: Limits): Generator<Violation> {
  for (const operation of operations) {
    if (isRefusal(operation) && reasonOf(operation, index, limits) === undefined)
      yield broken('I6', describe(operation));
  }
}

/** Failures of correct clients that a retry could not fix. */
export function countLosses(history: History, evidence: Evidence, limits: Limits): number {
  const index = new Index(history, evidence.audit);
  return history.operations.filter(
    (operation) => isRefusal(operation) && reasonOf(operation, index, limits) !== 'asked for',
  ).length;
}

/** A response that makes the client give up. */
function isRefusal({ outcome: { result } }: Operation): boolean {
  return result === 'refused' || result === 'inactive' || result === 'sent-away' || result === 'failed';
}

/**
 * Why a refusal is right. `asked for`: the grant was ended, or its values were used twice. `spent`: the value was used
 * up by a lost response or lost by a fault, which the rules allow for short-lived values.
 */
function reasonOf(operation: Operation, index: Index, limits: Limits): 'asked for' | 'spent' | undefined {
  const { kind, basis, presented, startedAt, endedAt, outcome } = operation;
  const isEnded = index.mayHaveEnded(basis, endedAt);
  if (outcome.result === 'failed') return undefined;
  if (outcome.status === 401) return kind === 'userinfo' && isEnded ? 'asked for' : undefined;
  if (isEnded && kind !== 'redeem') return 'asked for';
  const others = index.presentedElsewhere(operation);
  const made = index.deliveredBy.get(presented ?? '')?.startedAt ?? startedAt;
  const spentIf = (condition: boolean) => (condition ? 'spent' : undefined);
  const wasCommitted = others.some(({ id }) => index.committed.has(id));
  switch (kind) {
    // The accepted exception: a code presented again after a commit whose response was lost (RFC 6749 §4.1.2).
    case 'redeem':
      if (others.some(isGood)) return 'asked for';
      return spentIf(wasCommitted || index.forgot(made, endedAt) || endedAt - made > limits.codeLifetimeMs);
    case 'poll':
      return spentIf(wasCommitted || index.forgot(made, endedAt));
    case 'approve':
      return spentIf(others.some(inDoubt) || index.forgot(made, endedAt));
    case 'sign-in':
    case 'page':
      return spentIf(index.forgot(made, endedAt));
    case 'refresh':
      return spentIf(others.some((other) => startedAt - other.startedAt > limits.retryWindowMs));
    // A superseded token is inactive (docs/protocol.md).
    case 'introspect-refresh':
      return index.usedBefore(presented, endedAt) ? 'asked for' : undefined;
    default:
      return undefined;
  }
}

/** I7: after each fault, everything that worked before recovers by itself and in time. */
function* recovered({ operations, faults }: History, { recoveryMs }: Limits): Generator<Violation> {
  const end = Math.max(0, ...operations.map(({ endedAt }) => endedAt));
  const good = new Map<string, Operation[]>();
  for (const operation of operations) {
    if (isGood(operation) && !operation.sweep) append(good, operation.kind, operation);
  }
  for (const { what, from, until } of faults) {
    for (const [kind, successes] of good) {
      if (!steady.has(kind) || !successes.some(({ endedAt }) => endedAt < from)) continue;
      const back = successes.find(({ startedAt }) => startedAt > until)?.endedAt ?? Infinity;
      if (back - until > recoveryMs && end - until > recoveryMs)
        yield broken('I7', `${kind} came back ${Math.round(back - until)} ms after ${what}`);
    }
  }
}

/** I9: every response belongs to the tenant, client and person of its request. */
function* noneCrossed({ operations }: History, { deliveredBy }: Index): Generator<Violation> {
  const subjects = new Map<string, string>();
  const persons = new Map<string, string>();
  for (const operation of operations) {
    const person = operation.person === '' ? operation.clientId : `${operation.tenant}/${operation.person}`;
    for (const { type, tenant, clientId, subject } of operation.delivered) {
      const crossed =
        (tenant !== undefined && tenant !== operation.tenant) ||
        (clientId !== undefined && clientId !== operation.clientId) ||
        (subject !== undefined && (subjects.get(person) ?? subject) !== subject) ||
        (subject !== undefined && (persons.get(subject) ?? person) !== person);
      if (crossed)
        yield broken('I9', `${describe(operation)} returned a ${type} token of another client or person`);
      if (subject === undefined) continue;
      subjects.set(person, subject);
      persons.set(subject, person);
    }
    const { said, presented } = operation;
    const source = deliveredBy.get(presented ?? '');
    if (said === undefined || source === undefined) continue;
    const of = { tenant: source.tenant, clientId: source.clientId, subject: subjects.get(person) };
    for (const key of ['tenant', 'clientId', 'subject'] as const) {
      if (said[key] !== undefined && of[key] !== undefined && said[key] !== of[key])
        yield broken('I9', `${describe(operation)} got the ${key} of another`);
    }
  }
}
