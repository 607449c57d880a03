import { migrations } from '@tessera/directory';
import { testDatabase } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { call } from '../testing/start-directory.ts';
import { corp, partner, twoProviders } from '../testing/two-providers.ts';

it('a provider that is removed, or gets another issuer, ends what was issued to its people, and nobody else', async () => {
  const database = await testDatabase(migrations);
  const { declare, signIn, authorize, tenantId } = twoProviders(database);
  const validFrom = async (userId = '') =>
    Number((await authorize.getUser({ tenantId, userId }, call())).user?.validFrom);
  await declare([corp, partner]);
  const ada = await signIn(corp, 'ada', 'ada@company.example');
  const pat = await signIn(partner, 'pat', 'pat@partner.example');
  expect([await validFrom(ada.user?.userId), await validFrom(pat.user?.userId)]).toEqual([0, 0]);

  await declare([{ ...corp, issuer: 'https://login.bought.example' }, partner]);
  const ended = await validFrom(ada.user?.userId);
  expect(ended * 1000).toBeGreaterThan(Number(ada.signedInAtMs));
  expect(await signIn(corp, 'ada', 'ada@company.example')).toMatchObject({ refusal: 'inactive' });
  await declare([corp, partner]);
  const again = await signIn(corp, 'ada', 'ada@company.example');
  expect(Number(again.signedInAtMs)).toBeGreaterThanOrEqual((await validFrom(ada.user?.userId)) * 1000);

  await declare([partner]);
  expect(await validFrom(ada.user?.userId)).toBeGreaterThan(ended);
  expect(await validFrom(pat.user?.userId)).toBe(0);
});
