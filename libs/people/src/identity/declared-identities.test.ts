import { migrations } from '@tessera/directory';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call } from '../testing/start-directory.ts';
import { corp, partner, twoProviders } from '../testing/two-providers.ts';

let database: Database;

beforeAll(async () => {
  database = await testDatabase(migrations);
});

const closed = { ...corp, createsAccounts: false };
const at = (provider: string, subject: string) => ({ provider, subject });

/** A tenant with these people, and who signs in with what. */
async function world(users: readonly object[]) {
  const tenant = twoProviders(database);
  await tenant.declare([closed, partner], users);
  const who = async (subject: string) => {
    const { user, refusal } = await tenant.signIn(corp, subject, '');
    return user?.username ?? refusal;
  };
  return { ...tenant, who };
}

describe('a declared identity at a provider', () => {
  it('signs its person in, and nobody else (OIDC Core §2)', async () => {
    const { who } = await world([
      { username: 'ada', identities: [at('corp', 'a 1')] },
      { username: 'bob', identities: [at('partner', 'b')] },
    ]);
    expect(await who('a 1')).toBe('ada');
    expect(await who('a')).not.toBe('ada');
    expect(await who('b')).not.toBe('bob');
  });

  it('of somebody else is theirs still, and one at a provider suffices', async () => {
    const ada = { username: 'ada', identities: [at('corp', 'one')] };
    const { declare, who } = await world([ada]);
    const bob = { username: 'bob', identities: [at('corp', 'one')] };
    await declare([closed], [{ ...ada, identities: [at('corp', 'two')] }, bob]);
    expect(await who('one')).toBe('ada');
    expect(await who('two')).not.toBe('ada');
  });

  it('is bound once: after its removal it stays away, and another issuer under the name is another provider', async () => {
    const ada = { username: 'ada', password: 'a long password', identities: [at('corp', 'one')] };
    const { api, declare, tenantId, who } = await world([ada]);
    const { users } = await api.users.list({ tenantId }, call());
    const provider = { case: 'provider', value: 'corp' } as const;
    await api.users.deleteCredential(
      { tenantId, userId: users[0]?.userId ?? '', credential: provider },
      call(),
    );
    await declare([closed], [ada]);
    expect(await who('one')).not.toBe('ada');
    await declare([{ ...closed, issuer: 'https://other.example' }], [ada]);
    expect(await who('one')).not.toBe('ada');
  });

  it('is taken away by an empty list alone, comes again if it is declared, and those of others stay', async () => {
    const [ada, bob] = [
      { username: 'ada', identities: [at('corp', 'one')] },
      { username: 'bob', identities: [at('corp', 'two')] },
    ];
    const { declare, who } = await world([ada, bob]);
    await declare([closed], [{ username: 'ada' }, bob]);
    expect(await who('one')).toBe('ada');
    await declare([closed], [{ username: 'ada', identities: [] }, bob]);
    expect([await who('one'), await who('two')]).toEqual([expect.not.stringMatching('ada'), 'bob']);
    await declare([closed], [ada, bob]);
    expect(await who('one')).toBe('ada');
  });

  it('needs a provider of the tenant', async () => {
    const { declare } = await world([]);
    const users = [{ username: 'ada', identities: [at('nobody', 'one')] }];
    const refused = await declare([closed], users).catch((error: unknown) => String(error));
    expect(refused).toContain('users[0].identities[0].provider: is not a provider of the tenant');
  });

  it('says of which issuer it is, and is refused where the provider has another one (OIDC Core §2)', async () => {
    const { declare, who } = await world([]);
    const ada = (issuer: string) => [{ username: 'ada', identities: [{ ...at('corp', 'one'), issuer }] }];
    const elsewhere = declare([closed], ada('https://not-corp.example'));
    await expect(elsewhere).rejects.toThrow(
      'users[0].identities[0].issuer: is not the issuer of the provider that the tenant has by this name',
    );
    expect(await who('one')).not.toBe('ada');
    await declare([closed], ada(corp.issuer));
    expect(await who('one')).toBe('ada');
  });
});
