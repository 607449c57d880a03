import { waysInOf, type WayIn } from '@tessera/directory/ground';
import type { Database } from '@tessera/stores';
import { migrations } from '@tessera/directory';
import { eventually, runsEverything, testDatabase, testEmbeddedDatabase } from '@tessera/test-kit';
import { Code, ConnectError } from '@tessera/rpc';
import { beforeAll, describe, expect, it } from 'vitest';
import { giveIdentity, givePasskey, givePassword, putProvider } from '../testing/give-ways-in.ts';
import { issuer, mailWorld } from '../testing/mail-world.ts';
import { call, startDirectory } from '../testing/start-directory.ts';

interface State {
  readonly password: boolean;
  readonly passkey: boolean;
  /** `moved`: the provider has another issuer now. */
  readonly identity: 'none' | 'present' | 'removed' | 'moved';
}

const either = [true, false];
const identities = ['none', 'present', 'removed', 'moved'] as const;
const states: readonly State[] = either.flatMap((password) =>
  either.flatMap((passkey) => identities.map((identity) => ({ password, passkey, identity }))),
);
const password = 'a long password of somebody';
const administrator = 'tessera.administrator';

/** What is to come of a state, said once more and apart from SQL. */
function expected(state: State): readonly WayIn[] {
  return [
    ...(state.password ? (['password'] as const) : []),
    ...(state.passkey ? (['passkey'] as const) : []),
    ...(state.identity === 'present' ? (['provider'] as const) : []),
  ];
}

function named({ password: hasPassword, passkey, identity }: State): string {
  return `${hasPassword ? 'a password' : 'no password'}, ${passkey ? 'a passkey' : 'no passkey'}, identity ${identity}`;
}

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof ConnectError ? Code[error.code] : String(error)),
  );

waysInContract('postgres', async () => testDatabase(migrations));
if (runsEverything) waysInContract('pglite', async () => testEmbeddedDatabase(migrations));

/** What lets people in, and that all who ask have the same answer, on any engine. */
function waysInContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  let count = 0;
  beforeAll(async () => {
    database = await open();
  });

  /** Gives a person without anything what a state says. */
  async function give(person: { tenantId: string; userId: string }, state: State): Promise<void> {
    if (state.password) await givePassword(database, person);
    if (state.passkey) await givePasskey(database, person);
    if (state.identity === 'none') return;
    if (state.identity !== 'removed') await putProvider(database, person.tenantId, state.identity);
    const former = state.identity === 'moved' ? 'https://before.example' : undefined;
    await giveIdentity(database, person, state.identity, former);
  }

  /** A tenant that sends mail, where somebody of each state is called after it. */
  async function world(tenant: object = {}) {
    const of = await mailWorld(database, { tenant: { registration: 'open', ...tenant } });
    const people: {
      tenantId: string;
      userId: string;
      email: string;
      state: State;
      ways: readonly WayIn[];
    }[] = [];
    for (const [at, state] of states.entries()) {
      const email = `p${at}@people.example`;
      const person = { tenantId: of.tenantId, userId: await of.user({ username: `p${at}`, email }) };
      await give(person, state);
      people.push({ ...person, email, state, ways: expected(state) });
    }
    const each = async <T>(ask: (person: (typeof people)[number]) => Promise<T>) => {
      const answers = [];
      for (const person of people) answers.push(`${named(person.state)}: ${String(await ask(person))}`);
      return answers;
    };
    /** What is to be answered, by state. */
    const are = (answer: (ways: readonly WayIn[], state: State) => unknown) =>
      people.map(({ state, ways }) => `${named(state)}: ${String(answer(ways, state))}`);
    return { ...of, people, each, are };
  }
  const without = (ways: readonly WayIn[], way: WayIn) => ways.filter((one) => one !== way).length;

  describe(`what lets a person in, on ${engine}`, () => {
    it.each(['any', 'second-factor', 'phishing-resistant'])(
      'is a password, a passkey, and an identity at a provider that is there, under the policy %s',
      async (authenticationPolicy) => {
        const { each, are } = await world({ authenticationPolicy });
        expect(await each(async (person) => waysInOf(database, person))).toEqual(are((ways) => ways));
      },
    );

    it('is also an address, where the tenant signs people in by a code that is mailed there', async () => {
      const { each, are, user, tenantId } = await world({ signInMethods: ['mail-code'] });
      expect(await each(async (person) => waysInOf(database, person))).toEqual(
        are((ways) => [...ways, 'mail_code']),
      );
      const nowhere = { tenantId, userId: await user({ username: 'nowhere' }) };
      expect(await waysInOf(database, nowhere)).toEqual([]);
      const second = await world({ signInMethods: ['mail-code-second'] });
      expect(await second.each(async (person) => waysInOf(database, person))).toEqual(
        second.are((ways) => ways),
      );
    });

    it('is the same for who is disabled or locked, or whose tenant is disabled, and nothing for who is unknown', async () => {
      const { api, tenantId, userId, each, are, query } = await world();
      for (const status of ['disabled', 'locked']) {
        await query(
          `all_${status}`,
          `UPDATE directory.user_account SET status = '${status}' WHERE tenant_id = $1`,
          tenantId,
        );
        expect(await each(async (person) => waysInOf(database, person))).toEqual(are((ways) => ways));
      }
      const tenant = { tenantId, status: 'disabled' };
      await api.tenants.update({ tenantId, tenant, updateMask: { paths: ['status'] } }, call());
      expect(await each(async (person) => waysInOf(database, person))).toEqual(are((ways) => ways));
      expect(await waysInOf(database, { tenantId: 'nobody', userId })).toEqual([]);
    });
  });

  describe(`all who ask what lets a person in have the same answer, on ${engine}`, () => {
    it('the removal of a passkey, which keeps the last one', async () => {
      const { person: service, each, are } = await world();
      const removed = await each(async ({ tenantId, userId }) => {
        const asked = { tenantId, userId, credentialId: userId, ipAddress: '203.0.113.9' };
        return (await service.removeOwnFactor(asked, call())).refusal;
      });
      const answer = (ways: readonly WayIn[]) => (without(ways, 'passkey') > 0 ? '' : 'last');
      expect(removed).toEqual(are((ways, { passkey }) => (passkey ? answer(ways) : 'unknown')));
    });

    it('the end of a link to a provider, which keeps the last one', async () => {
      const { person: service, each, are } = await world();
      const unlinked = await each(async ({ tenantId, userId, state }) => {
        const asked = { tenantId, userId, provider: state.identity, ipAddress: '203.0.113.9' };
        return (await service.unlinkOwnProvider(asked, call())).refusal;
      });
      const answer = (ways: readonly WayIn[]) => (without(ways, 'provider') > 0 ? '' : 'last');
      expect(unlinked).toEqual(are((ways, { identity }) => (identity === 'none' ? 'unknown' : answer(ways))));
    });

    it('a reset by mail, for who has a password or nothing', async () => {
      const { forget, waiting, audited, people, each, are } = await world();
      for (const { email } of people) await forget(email);
      await eventually('all are answered', async () => (await waiting()).length === 0);
      const refused = await audited('auth.reset.refused');
      const answers = await each(
        async ({ userId }) => refused.find(({ subject }) => subject === userId)?.reason ?? 'mailed',
      );
      expect(answers).toEqual(
        are((ways) => (ways.length === 0 || ways.includes('password') ? 'mailed' : 'no_password')),
      );
      expect(await audited('auth.link.created')).toHaveLength(people.length - refused.length);
    });

    it('a registration, which invites who has nothing', async () => {
      const { as, waiting, audited, people, tenantId, each, are } = await world();
      for (const { email } of people) await as('gateway').requestRegistration({ tenantId, email }, call());
      await eventually('all are answered', async () => (await waiting()).length === 0);
      const invited = await audited('auth.link.created');
      const isInvited = async ({ userId }: { readonly userId: string }) =>
        invited.some(({ subject }) => subject === userId);
      expect(await each(isInvited)).toEqual(are((ways) => ways.length === 0));
    });

    it('an invitation, by which who has nothing makes a passkey, unless they have an app', async () => {
      const { api, as, each, are, query } = await world();
      const offers = async ({
        tenantId,
        userId,
        state,
      }: {
        tenantId: string;
        userId: string;
        state: State;
      }) => {
        if (state.password) return 'has a password';
        const asked = { tenantId, userId, purpose: 'invitation' };
        const { uri } = await api.users.createPasswordLink(asked, call());
        const link = new URL(uri).searchParams.get('link') ?? '';
        return (await as('gateway').getPasswordLink({ link, issuer }, call())).passkeyOptions === ''
          ? 'a password'
          : 'a passkey';
      };
      const answer = (best: string) =>
        are((ways, state) => {
          if (state.password) return 'has a password';
          return ways.length === 0 ? best : 'a password';
        });
      expect(await each(offers)).toEqual(answer('a passkey'));
      await query(
        'give_apps',
        `INSERT INTO directory.totp (tenant_id, user_id, sealed, last_step)
         SELECT tenant_id, user_id, 'x', 0 FROM directory.user_account WHERE username LIKE 'p%' ON CONFLICT DO NOTHING`,
      );
      expect(await each(offers)).toEqual(answer('a password'));
    });

    it.each(states.map((state) => [named(state), state] as const))(
      'the first administrator and the last one to leave, where the other one has %s',
      async (_name, state) => {
        const tenantId = `${engine}-ways${(count += 1)}`;
        const { bootstrap, api, person } = startDirectory(database, { TESSERA_OPERATOR_TENANT: tenantId });
        await api.tenants.create(
          { tenantId, tenant: { tenantId, name: 'Operators', accountClosing: true } },
          call(),
        );
        const create = async (username: string, more: object = {}) =>
          (await api.users.create({ tenantId, user: { username, roles: [administrator], ...more } }, call()))
            .userId;
        const other = await create('other');
        await give({ tenantId, userId: other }, state);
        const canSignIn = expected(state).length > 0;
        expect(await codeOf(bootstrap.createFirstAdministrator({}, call()))).toBe(
          canSignIn ? 'FailedPrecondition' : 'done',
        );
        const leaving = { tenantId, userId: await create('leaving', { password }), ipAddress: '203.0.113.9' };
        expect((await person.closeOwnAccount(leaving, call())).refusal).toBe(
          canSignIn ? '' : 'last_administrator',
        );
      },
    );
  });
}
