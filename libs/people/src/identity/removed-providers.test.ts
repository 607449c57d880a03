import { migrations } from '@tessera/directory';
import { Code } from '@tessera/rpc';
import { testDatabase } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { call } from '../testing/start-directory.ts';
import { corp, partner, twoProviders } from '../testing/two-providers.ts';

it('a file lets no administrator in again by a provider that was removed, or had another issuer, unless that is allowed', async () => {
  const { files, declare, signIn, tenantId, update } = twoProviders(await testDatabase(migrations));
  const email = 'ada@company.example';
  await declare([corp, partner]);
  const userId = (await signIn(corp, 'ada', email)).user?.userId ?? '';
  await signIn(partner, 'eve', 'eve@company.example');
  await update({ userId, roles: ['tessera.auditor'] });
  const apply = async (providers: readonly object[]) => {
    const document = JSON.stringify({ tenants: [{ id: tenantId, name: 'Acme', providers }] });
    return files.apply({ document, fileName: 'state.yaml', allowDelete: true }, call());
  };
  await apply([corp, { ...partner, issuer: 'https://login.bought.example' }]);
  for (const without of [[], [{ ...corp, issuer: 'https://login.bought.example' }]]) {
    await apply(without);
    expect(await signIn(corp, 'ada', email)).toMatchObject({ refusal: 'inactive' });
    await expect(apply([corp])).rejects.toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: expect.stringContaining(`: user ${email}: tessera.auditor (by providers)`) as string,
    });
    await declare([corp]);
    expect((await signIn(corp, 'ada', email)).user?.userId).toBe(userId);
    // The providers of others, and this one as it is, are as the file says.
    await apply([corp, partner]);
  }
});
