import { AuditService } from '@tessera/proto-gen/admin-audit';
import { timestampFromMs } from '@tessera/rpc';
import { beforeAll, expect, it } from 'vitest';
import { administrationAtHand } from '../testing/administration-at-hand.ts';

const time = timestampFromMs(1_800_000_000_000);
const rows = [
  {
    requestId: 'r-page',
    event: 'authorize.rejected',
    outcome: 'failure',
    reason: 'invalid_request',
    tenantId: 'demo',
    clientId: 'demo-web',
    details: { phase: 'redirect_uri', received: 'https://x.example/', hint: 'It must equal a redirect URI.' },
  },
  { requestId: 'r-page', event: 'session.created', outcome: 'success', tenantId: 'demo' },
  {
    requestId: 'r-form',
    event: 'auth.login.failed',
    outcome: 'failure',
    reason: 'wrong_factor',
    tenantId: 'demo',
    subject: 'usr_ada',
  },
  {
    requestId: 'r-many',
    event: 'auth.throttled',
    outcome: 'failure',
    reason: 'sign-in.account',
    tenantId: 'demo',
    subject: 'usr_ada',
  },
  { requestId: 'r-good', event: 'session.created', outcome: 'success', tenantId: 'demo' },
  // Of another request, with a key that has the name of this one.
  { requestId: 'r-other', event: 'config.changed', outcome: 'success', details: { resource: 'r-key' } },
];

let run: Awaited<ReturnType<typeof administrationAtHand>>;
beforeAll(async () => {
  run = await administrationAtHand([
    {
      service: AuditService,
      handlers: {
        search: async ({ about, tenantId }: { about: string; tenantId: string }) => ({
          events: rows
            .filter(
              ({ requestId, details }) => requestId === about || Object.values(details ?? {}).includes(about),
            )
            .filter((row) => tenantId === '' || row.tenantId === tenantId)
            .map((row) => ({ time, ...row })),
        }),
      },
    },
  ]);
});

it('says by what a request was refused, and what to change', async () => {
  const { code, out } = await run('why r-page -o json');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual([
    {
      time: '2027-01-15T08:00:00.000Z',
      event: 'authorize.rejected',
      tenant: 'demo',
      application: 'demo-web',
      phase: 'redirect_uri',
      reason: 'invalid_request',
      received: 'https://x.example/',
      change: 'It must equal a redirect URI.',
    },
  ]);
});

it('says what to do where the trail has a reason alone, and names the person', async () => {
  const { out } = await run('why r-form --tenant demo -o json');
  expect(JSON.parse(out)).toMatchObject([
    { person: 'usr_ada', change: expect.stringContaining('tessera user reset-factors') as string },
  ]);
});

it('says that nothing was refused, and that nothing is known', async () => {
  const good = await run('why r-good');
  expect([good.code, good.said]).toEqual([
    0,
    expect.stringContaining('Nothing of this request was refused.'),
  ]);
  for (const words of ['why r-none', 'why r-key', 'why r-form --tenant other']) {
    const { code, said } = await run(words);
    expect([code, said]).toEqual([1, expect.stringContaining('has nothing with the reference')]);
  }
});

it('says who ends a lock after too many attempts', async () => {
  expect((await run('why r-many')).out).toMatch(
    /reason: sign-in\.account[^]*End the lock at the person[^]*tessera\s+user\s+unlock/,
  );
});
