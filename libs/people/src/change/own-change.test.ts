import { randomBytes } from 'node:crypto';
import { migrations } from '@tessera/directory';
import type { Database, Queryable } from '@tessera/stores';
import { SoftwareAuthenticator, testDatabase, waitFor } from '@tessera/test-kit';
import { URI, type TOTP } from 'otpauth';
import { beforeAll, describe, expect, it } from 'vitest';
import { giveIdentity, givePasskey, putProvider } from '../testing/give-ways-in.ts';
import { mailWorld } from '../testing/mail-world.ts';
import { call } from '../testing/start-directory.ts';

const [first, second] = ['the first one of eve', 'the second one of eve'];
const origin = 'https://id.example';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

/** Eve, who has a password and an address. */
async function world() {
  const of = await mailWorld(database, { tenant: { accountClosing: true } });
  const { tenantId, userId, as, query } = of;
  const authorize = as('authorize');
  const eve = { tenantId, userId };
  return {
    ...of,
    eve,
    authorize,
    gateway: as('gateway'),
    setStatus: async (status: string) =>
      query('set_status', 'UPDATE directory.user_account SET status = $2 WHERE user_id = $1', userId, status),
    /** Ends the sign-ins before a time, in seconds, of eve alone or of everybody. */
    end: async (table: 'user_account' | 'tenant', before: bigint, by: Queryable = database) =>
      by.query({
        name: `test.end_by_${table}`,
        text: `UPDATE directory.${table} SET valid_from = $2 WHERE tenant_id = $1`,
        values: [tenantId, before],
      }),
    code: async (seed: string) =>
      (URI.parse((await authorize.proposeTotp({ ...eve, seed }, call())).uri) as TOTP).generate(),
  };
}

type World = Awaited<ReturnType<typeof world>>;

/** Who asks, and by which sign-in. */
interface Asking {
  readonly tenantId: string;
  readonly userId: string;
  readonly authTime: bigint;
  readonly ipAddress: string;
}

type Ask = (asking: Asking) => Promise<object>;

const done = { refusal: '' };
const answered = { user: { username: 'eve' } };

/** Each change that people make of what is theirs, prepared so that it can be made once, and its answer. */
const changes: readonly (readonly [name: string, prepare: (of: World) => Promise<Ask>, answer: object])[] = [
  [
    'a password',
    async ({ authorize }) => {
      const passwords = { presentPassword: first, newPassword: second };
      return async (asking) => authorize.replacePassword({ ...asking, ...passwords }, call());
    },
    answered,
  ],
  [
    'an app with recovery codes',
    async ({ authorize, eve, code }) => {
      const seed = 'a-seed';
      const proposed = { ...eve, seed, code: await code(seed) };
      const { timeStep = 0n } = await authorize.verifyProposedTotp(proposed, call());
      return async (asking) => authorize.adoptProposal({ ...asking, seed, timeStep }, call());
    },
    answered,
  ],
  [
    'recovery codes',
    async ({ authorize, eve }) => {
      await givePasskey(database, eve);
      return async (asking) => authorize.adoptProposal({ ...asking, seed: 'a-seed' }, call());
    },
    answered,
  ],
  [
    'a passkey',
    async ({ authorize, eve }) => {
      const challenge = randomBytes(32).toString('base64url');
      const ceremony = { rpId: 'id.example', origin, challenge };
      const { options } = await authorize.proposePasskey({ ...eve, ceremony }, call());
      const response = new SoftwareAuthenticator(origin).create(options);
      return async (asking) => authorize.enrolPasskey({ ...asking, ceremony, response }, call());
    },
    answered,
  ],
  [
    'the name of a passkey',
    async ({ person, eve }) => {
      await givePasskey(database, eve);
      const renamed = { credentialId: eve.userId, name: 'Laptop' };
      return async (asking) => person.renameOwnPasskey({ ...asking, ...renamed }, call());
    },
    { found: true },
  ],
  [
    'the removal of a passkey',
    async ({ person, eve }) => {
      await givePasskey(database, eve);
      return async (asking) => person.removeOwnFactor({ ...asking, credentialId: eve.userId }, call());
    },
    done,
  ],
  [
    'a linked provider',
    async ({ person, tenantId }) => {
      const identity = { provider: 'corp', issuer: await putProvider(database, tenantId, 'corp') };
      return async (asking) => person.linkOwnProvider({ ...asking, ...identity, subject: 's-1' }, call());
    },
    done,
  ],
  [
    'the removal of a provider',
    async ({ person, tenantId, eve }) => {
      await putProvider(database, tenantId, 'corp');
      await giveIdentity(database, eve, 'corp');
      return async (asking) => person.unlinkOwnProvider({ ...asking, provider: 'corp' }, call());
    },
    done,
  ],
  [
    'a name',
    async ({ person }) =>
      async (asking) =>
        person.changeOwnName({ ...asking, name: 'Eve Adams' }, call()),
    done,
  ],
  [
    'an address that is proposed',
    async ({ authorize }) =>
      async (asking) =>
        authorize.proposeEmail({ ...asking, email: 'new@people.example', language: 'en' }, call()),
    {},
  ],
  [
    'an address that is confirmed',
    async ({ authorize, gateway, eve, smtp }) => {
      await authorize.proposeEmail({ ...eve, email: 'new@people.example', language: 'en' }, call());
      const [mail] = await smtp.gotAll(1);
      const link = new URL(mail?.link ?? '').searchParams.get('link') ?? '';
      return async (asking) => gateway.confirmEmail({ ...asking, link }, call());
    },
    {},
  ],
  [
    'the end of the account',
    async ({ person }) =>
      async (asking) =>
        person.closeOwnAccount(asking, call()),
    done,
  ],
];

/** The answer, or the code of the error. */
async function answerOf(answer: Promise<object>): Promise<object> {
  return answer.then(
    (message) => message,
    ({ code }: { code: number }) => ({ code }),
  );
}

describe.each(changes)('%s', (_, prepare, answer) => {
  it.each(['user_account', 'tenant'] as const)(
    'counts by a sign-in of the very second in which earlier ones ended in %s, and not by an earlier one',
    async (table) => {
      const of = await world();
      const ask = await prepare(of);
      const endedAt = BigInt(Math.floor(Date.now() / 1000) + 100);
      const by = async (authTime: bigint) => answerOf(ask({ ...of.eve, authTime, ipAddress: '192.0.2.1' }));
      await of.setStatus('locked');
      const ofInactive = await by(endedAt);
      await of.setStatus('active');
      await of.end(table, endedAt);
      expect(await by(endedAt - 1n)).toEqual(ofInactive);
      const counted = await by(endedAt);
      expect(counted).toMatchObject(answer);
      expect(counted).not.toEqual(ofInactive);
    },
  );
});

it.each(['user_account', 'tenant'] as const)(
  'a change waits for the commit of what ends sign-ins in %s, and then does not count',
  async (table) => {
    const { person, eve, end } = await world();
    const authTime = BigInt(Math.floor(Date.now() / 1000));
    const [begun, mayCommit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const ending = database.transaction(async (tx) => {
      await end(table, authTime + 100n, tx);
      begun.resolve();
      await mayCommit.promise;
    });
    await begun.promise;
    let isOver = false;
    const asked = person.changeOwnName({ ...eve, authTime, name: 'Eve Adams' }, call()).finally(() => {
      isOver = true;
    });
    await waitFor(async () => {
      const { rows } = await database.query({
        name: 'test.blocked_changes',
        text: `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE OF u%'
                  AND datname = current_database()`,
      });
      expect(isOver || rows.length > 0).toBe(true);
    });
    mayCommit.resolve();
    await ending;
    expect((await asked).refusal).toBe('unknown');
  },
);
