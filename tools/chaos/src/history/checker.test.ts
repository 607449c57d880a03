import { describe, expect, it } from 'vitest';
import { check, countLosses, type Invariant, type Limits } from './checker.ts';
import { longestOutage } from './outages.ts';
import type { AuditRow, Delivered, Fault, Kind, Operation, Outcome } from './history.ts';

const limits: Limits = {
  retryWindowMs: 60_000,
  codeLifetimeMs: 60_000,
  disableDelayMs: 1_000,
  recoveryMs: 5_000,
  lostAuditMs: 1_500,
};

/** A history built step by step: each operation takes 10 ms and starts 100 ms after the one before. */
class Story {
  readonly operations: Operation[] = [];
  readonly faults: Fault[] = [];
  readonly audit: AuditRow[] = [];
  leaks = 0;
  now = 0;

  add(kind: Kind, more: Partial<Operation> & { readonly outcome?: Outcome } = {}): this {
    this.now += 100;
    const id = more.id ?? `r${this.operations.length + 1}`;
    const operation: Operation = {
      id,
      kind,
      actor: 'web@north',
      tenant: 'north',
      clientId: 'north-web',
      person: 'ada',
      attempt: 0,
      startedAt: this.now,
      endedAt: this.now + 10,
      outcome: good,
      delivered: [],
      ...more,
    };
    this.operations.push(operation);
    for (const { type, jti } of operation.delivered) {
      if (type === 'access' && jti !== undefined)
        this.audit.push({ event: 'token.issued', jti, requestId: id, tenant: 'north' });
    }
    return this;
  }

  fault(type: Fault['type'], lastsMs: number): this {
    this.now += 100;
    this.faults.push({ type, what: 'a process', from: this.now, until: this.now + lastsMs });
    this.now += lastsMs;
    return this;
  }

  broken(): Invariant[] {
    return [...new Set(check(this, this, limits).map(({ invariant }) => invariant))];
  }

  losses(): number {
    return countLosses(this, this, limits);
  }
}

const good: Outcome = { result: 'good', status: 200 };
const invalidGrant: Outcome = { result: 'refused', status: 400, error: 'invalid_grant' };
const inactive: Outcome = { result: 'inactive', status: 200 };
const lost: Outcome = { result: 'lost', status: 0, error: 'ECONNRESET' };

const access = (jti: string, more: Partial<Delivered> = {}): Delivered => ({
  type: 'access',
  hash: `h-${jti}`,
  jti,
  kid: 'k1',
  verified: true,
  tenant: 'north',
  clientId: 'north-web',
  subject: 'usr_ada',
  ...more,
});
const refreshToken = (hash: string): Delivered => ({ type: 'refresh', hash });

const keySet = { published: ['k1'] };
/** A code that was redeemed for the grant `g`, whose first refresh token is `t1`. */
const signedIn = (): Story =>
  new Story()
    .add('keys', keySet)
    .add('authorize', { delivered: [{ type: 'one-time', hash: 'c' }] })
    .add('redeem', { presented: 'c', basis: 'g', delivered: [access('j1'), refreshToken('t1')] });

const refreshed = (more: Partial<Operation> = {}) =>
  ({ presented: 't1', basis: 'g', delivered: [access('j2'), refreshToken('t2')], ...more }) as const;

describe('the checker of histories', () => {
  it('finds nothing in a run without faults', () => {
    const story = signedIn()
      .add('introspect-refresh', { presented: 't1', basis: 'g', said: { subject: 'usr_ada' } })
      .add('refresh', refreshed())
      .add('introspect-refresh', { presented: 't1', basis: 'g', outcome: inactive })
      .add('revoke', { presented: 't2', ends: ['g'] })
      .add('refresh', { presented: 't2', basis: 'g', outcome: invalidGrant })
      .add('introspect-refresh', { presented: 't2', basis: 'g', outcome: inactive, sweep: true });
    expect(story.broken()).toEqual([]);
    expect(story.losses()).toBe(0);
  });

  it('finds nothing where a lost answer was asked for again and given again', () => {
    const story = signedIn()
      .add('refresh', refreshed({ outcome: lost, delivered: [] }))
      .add('refresh', refreshed());
    story.audit.push({ event: 'refresh.rotated', jti: 'j-lost', requestId: 'r4', tenant: 'north' });
    expect(story.broken()).toEqual([]);
  });

  it.each([
    ['redeem', { presented: 'c', basis: 'g2', delivered: [access('j9')] }],
    ['poll', { presented: 'c', basis: 'g2', delivered: [access('j9')] }],
  ] as const)('I1: reports a second grant for one value (%s)', (kind, second) => {
    expect(signedIn().add(kind, second).broken()).toEqual(['I1']);
  });

  it('I2: reports a token with two successors', () => {
    const fork = refreshed({ delivered: [access('j3'), refreshToken('t2b')] });
    expect(signedIn().add('refresh', refreshed()).add('refresh', fork).broken()).toEqual(['I2']);
  });

  it('I2: reports two live tokens of one family', () => {
    const alive = (presented: string) => ({ presented, basis: 'g', sweep: true });
    const story = signedIn()
      .add('refresh', refreshed())
      .add('introspect-refresh', alive('t1'))
      .add('introspect-refresh', alive('t2'));
    expect(story.broken()).toEqual(['I2']);
  });

  it.each(['refresh', 'introspect-refresh', 'redeem'] as const)(
    'I3: reports a %s that is served after the grant was revoked',
    (kind) => {
      const story = signedIn()
        .add('revoke', { ends: ['g'] })
        .add(kind, { presented: 't1', basis: 'g' });
      expect(story.broken()).toContain('I3');
    },
  );

  it('I3: reports a session that is served after the person signed out', () => {
    const story = new Story().add('logout', { ends: ['s'] }).add('authorize', { basis: 's' });
    expect(story.broken()).toEqual(['I3']);
  });

  it('I3: goes by the real time: what began before the end was confirmed may be served', () => {
    const story = signedIn()
      .add('revoke', { ends: ['g'] })
      .add('refresh', refreshed({ startedAt: 405 }));
    expect(story.broken()).toEqual([]);
  });

  it('I3: gives a disabled person the second that is promised, and no more', () => {
    const disabled = () => signedIn().add('disable', { ends: ['g'], person: '' });
    expect(disabled().add('refresh', refreshed()).broken()).toEqual([]);
    const late = disabled();
    late.now += 1_500;
    expect(late.add('refresh', refreshed()).broken()).toEqual(['I3']);
  });

  it('I4: reports a token without a row, with two, and with that of another request', () => {
    const without = signedIn();
    without.audit.length = 0;
    expect(without.broken()).toEqual(['I4']);
    const [row] = signedIn().audit;
    const twice = signedIn();
    if (row !== undefined) twice.audit.push(row);
    expect(twice.broken()).toEqual(['I4']);
    const other = signedIn();
    if (row !== undefined) other.audit.splice(0, 1, { ...row, requestId: 'r1' });
    expect(other.broken()).toEqual(['I4']);
  });

  it.each([
    ['not asked for', 'r99'],
    ['whose answer came and brought another', 'r3'],
  ])('I4: reports a row of a token that %s', (_what, requestId) => {
    const story = signedIn();
    story.audit.push({ event: 'token.issued', jti: 'j9', requestId, tenant: 'north' });
    expect(story.broken()).toEqual(['I4']);
  });

  it('I4: takes a row that was withdrawn with its refusal', () => {
    const story = signedIn()
      .add('disable', { ends: ['g'], person: '' })
      .add('refresh', { presented: 't1', basis: 'g', outcome: invalidGrant });
    story.audit.push({ event: 'refresh.rotated', jti: 'j9', requestId: 'r5', tenant: 'north' });
    expect(story.broken()).toEqual(['I4']);
    story.audit.push({ event: 'refresh.undelivered', jti: '', requestId: 'r5', tenant: 'north' });
    expect(story.broken()).toEqual([]);
  });

  it('I4: forgives a killed process its last second of what changes no state, and nothing else', () => {
    const violations = (kind: Kind, type: Fault['type']) => {
      const story = new Story().add('keys', keySet).add(kind, { delivered: [access('j1')] });
      story.audit.length = 0;
      return story.fault(type, 100).broken();
    };
    expect(violations('client-credentials', 'kill')).toEqual([]);
    expect(violations('client-credentials', 'stop')).toEqual(['I4']);
    expect(violations('refresh', 'kill')).toEqual(['I4']);
  });

  it('I5: reports a token that no key set had vouched for, and one whose key was withdrawn', () => {
    const unknown = new Story()
      .add('keys', keySet)
      .add('redeem', { delivered: [access('j1', { verified: false })] });
    expect(unknown.broken()).toEqual(['I5']);
    expect(
      signedIn()
        .add('keys', { published: ['k2'] })
        .broken(),
    ).toEqual(['I5']);
  });

  it.each([
    ['refresh', invalidGrant],
    ['introspect-refresh', inactive],
    ['introspect-access', inactive],
    ['refresh', { result: 'refused', status: 401, error: 'invalid_client' }],
    ['authorize', { result: 'sent-away', status: 302 }],
    ['refresh', { result: 'failed', status: 500 }],
    ['revoke', { result: 'refused', status: 400 }],
    ['keys', { result: 'failed', status: 500 }],
  ] as const)('I6: reports a %s that is answered with %j while nothing has ended', (kind, outcome) => {
    const presented = kind === 'introspect-access' ? 'h-j1' : 't1';
    const story = signedIn().add(kind, { presented, basis: kind === 'authorize' ? 's' : 'g', outcome });
    expect(story.broken()).toEqual(['I6']);
    expect(story.losses()).toBe(1);
  });

  it('I6: allows that a code is spent by an answer that was lost, and counts it; not that it burns for nothing', () => {
    const story = new Story()
      .add('authorize', { delivered: [{ type: 'one-time', hash: 'c' }] })
      .add('redeem', { presented: 'c', basis: 'g', outcome: lost })
      .add('redeem', { presented: 'c', basis: 'g', outcome: invalidGrant });
    expect(story.broken()).toEqual(['I6']);
    story.audit.push({ event: 'token.issued', jti: 'j1', requestId: 'r2', tenant: 'north' });
    expect(story.broken()).toEqual([]);
    expect(story.losses()).toBe(1);
  });

  it('I6: allows that a Redis that forgot knows no code from before, and that it knows those from after', () => {
    const code = { delivered: [{ type: 'one-time', hash: 'c' }] } as const;
    const redeem = { presented: 'c', basis: 'g', outcome: invalidGrant };
    expect(new Story().add('authorize', code).fault('forget', 100).add('redeem', redeem).broken()).toEqual(
      [],
    );
    expect(new Story().fault('forget', 100).add('authorize', code).add('redeem', redeem).broken()).toEqual([
      'I6',
    ]);
  });

  it('I7: reports what worked before and does not come back in time', () => {
    const storyWith = (silenceMs: number) => {
      const story = new Story().add('client-credentials').fault('stop', 500);
      story.now += silenceMs;
      return story.add('client-credentials');
    };
    expect(storyWith(1_000).broken()).toEqual([]);
    expect(storyWith(6_000).broken()).toEqual(['I7']);
  });

  it('I8: reports values in the output', () => {
    const story = signedIn();
    story.leaks = 1;
    expect(story.broken()).toEqual(['I8']);
  });

  it.each([
    ['a token of another tenant', { tenant: 'south' }],
    ['a token of another client', { clientId: 'south-web' }],
    ['a token of another person', { subject: 'usr_bob' }],
  ])('I9: reports %s', (_what, more) => {
    expect(
      signedIn()
        .add('refresh', refreshed({ delivered: [access('j2', more)] }))
        .broken(),
    ).toEqual(['I9']);
  });

  it('I9: reports a subject that two people share, and an answer about another token', () => {
    const shared = signedIn().add('redeem', { presented: 'c2', person: 'bob', delivered: [access('j2')] });
    expect(shared.broken()).toEqual(['I9']);
    const said = { tenant: 'south', clientId: 'north-web', subject: 'usr_ada' };
    expect(signedIn().add('introspect-access', { presented: 'h-j1', said }).broken()).toEqual(['I9']);
  });

  it('measures from the first failure to the next success', () => {
    const story = new Story().add('refresh').add('refresh', { outcome: lost }).add('keys').add('refresh');
    expect(longestOutage(story)).toEqual({ kind: 'refresh', ms: 210 });
  });
});
