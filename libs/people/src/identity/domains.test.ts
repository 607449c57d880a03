import { migrations } from '@tessera/directory';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { corp, partner, twoProviders } from '../testing/two-providers.ts';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

describe('the domain of an address that a provider says', () => {
  it.each(['cfo@bücher.example', 'CFO@BÜCHER.example', 'cfo@xn--bcher-kva.example'])(
    'is that of its owner in each spelling: %s (RFC 5890)',
    async (spelling) => {
      const { declare, signIn } = twoProviders(database);
      await declare([{ ...corp, domains: ['xn--bcher-kva.example'] }, partner]);
      expect((await signIn(partner, 'evil', spelling)).user).toMatchObject({ email: '' });
      expect((await signIn(corp, 'cfo', spelling)).user?.email.toLowerCase()).toBe(
        'cfo@xn--bcher-kva.example',
      );
      expect((await signIn(partner, 'evil too', spelling)).user).toMatchObject({ email: '' });
    },
  );

  it.each([
    'ｃompany.example',
    'company。example',
    'com\u00adpany.example',
    'comp\u200bany.example',
    'company.example.',
    '[company.example]',
    'eu.company.example',
  ])('is not vouched for by others in a spelling or below it: %j', async (domain) => {
    const { declare, signIn } = twoProviders(database);
    await declare([{ ...corp, domains: ['company.example'] }, partner]);
    const { user } = await signIn(partner, 'evil', `cfo@${domain}`);
    expect(user).toMatchObject({ email: '', username: expect.stringMatching(/^partner:/) as string });
  });

  it('may be below the domain of another provider if its own declares it', async () => {
    const { declare, signIn } = twoProviders(database);
    await declare([
      { ...corp, domains: ['company.example'] },
      { ...partner, domains: ['eu.company.example'] },
    ]);
    expect((await signIn(partner, 'eva', 'eva@eu.company.example')).user?.email).toBe(
      'eva@eu.company.example',
    );
    expect((await signIn(corp, 'eve', 'eve@eu.company.example')).user?.email).toBe('');
  });
});
