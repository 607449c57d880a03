import { migrations } from '@tessera/directory';
import { mailedLink, putEmailProof } from '@tessera/directory/records';
import { testDatabase } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { call } from '../testing/start-directory.ts';
import { corp, partner, twoProviders } from '../testing/two-providers.ts';

it('of two providers each leads to the accounts of its own domain alone, whoever comes first', async () => {
  const database = await testDatabase(migrations);
  const { declare, signIn, leave, api, tenantId, authorize } = twoProviders(database);
  const claimsOf = async (userId: string) =>
    (await authorize.getUser({ tenantId, userId }, call())).user?.standardClaims;
  const owned = [
    { ...corp, domains: ['company.example'] },
    { ...partner, domains: ['partner.example'] },
  ];
  await declare(owned);

  // Somebody of the partner's says to be the officer, before and after the officer comes.
  const evil = await signIn(partner, 'evil', 'cfo@company.example');
  expect(evil.user).toMatchObject({ email: '', username: expect.stringMatching(/^partner:/) as string });
  const cfo = await signIn(corp, 'cfo', 'cfo@company.example');
  expect(cfo).toMatchObject({ refusal: '', user: { username: 'cfo@company.example' } });
  expect(cfo.user?.userId).not.toBe(evil.user?.userId);
  const spellings = ['CFO@Company.Example', 'cfo@ｃompany.example', 'cfo@company.example.'];
  for (const [at, spelling] of spellings.entries())
    expect((await signIn(partner, `evil ${at}`, spelling)).user).toMatchObject({ email: '' });
  // The one who was there first is still somebody else.
  expect((await signIn(partner, 'evil', 'cfo@company.example')).user?.userId).toBe(evil.user?.userId);
  expect(await claimsOf(evil.user?.userId ?? '')).toBeUndefined();
  expect(await claimsOf(cfo.user?.userId ?? '')).toMatchObject({ email_verified: true });

  // Each has people of its own, and says nothing of those of the other.
  expect((await signIn(partner, 'pat', 'pat@partner.example')).user?.email).toBe('pat@partner.example');
  expect((await signIn(corp, 'pat', 'pat@partner.example')).user?.email).toBe('');

  // Somebody whom the tenant knew before, by a link that was mailed to the address.
  const email = 'ada@company.example';
  const user = { username: 'ada', email, emailVerified: true };
  const { userId } = await api.users.create({ tenantId, user }, call());
  await putEmailProof(database, { tenantId, userId }, email, mailedLink);
  expect((await signIn(partner, 'ada', email)).user?.userId).not.toBe(userId);
  expect((await signIn(corp, 'ada', email)).user?.userId).toBe(userId);

  // Without the provider the officer comes back, and nobody else does.
  await leave(cfo.user?.userId ?? '', 'corp');
  expect((await signIn(partner, 'evil too', 'cfo@company.example')).user).toMatchObject({ email: '' });
  expect((await signIn(corp, 'cfo', 'cfo@company.example')).user?.userId).toBe(cfo.user?.userId);

  // The partner is another company from now on.
  const moved = { ...partner, issuer: 'https://login.bought.example', domains: ['partner.example'] };
  await declare([owned[0] ?? corp, moved]);
  expect(await signIn(moved, 'pat', 'pat@partner.example')).toMatchObject({ refusal: 'taken' });
});
