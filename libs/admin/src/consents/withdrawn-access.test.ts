import { temporarilyUnavailable } from '@tessera/oauth';
import { DeleteConsentResponseSchema } from '@tessera/proto-gen/admin-consents';
import { RevokeGrantsResponseSchema } from '@tessera/proto-gen/admin-grants';
import { Code, ConnectError, create } from '@tessera/rpc';
import { expect, it } from 'vitest';
import { withdrawingAccess } from './withdrawn-access.ts';

const whose = { tenantId: 'acme', userId: 'u1', clientId: 'partner' };

/** Services with a consent, or none, and so many grants in each call. */
function services({
  hasConsent = true,
  grants = [],
}: {
  readonly hasConsent?: boolean;
  readonly grants?: (number | Error)[];
}) {
  const asked: unknown[] = [];
  const client = withdrawingAccess(
    {
      list: async () => Promise.reject(new Error('not asked')),
      async delete(request) {
        asked.push(['delete', request]);
        if (!hasConsent) throw new ConnectError('There is no such consent.', Code.NotFound);
        return create(DeleteConsentResponseSchema);
      },
    },
    {
      async revokeGrants(request) {
        asked.push(['revoke', request]);
        const revoked = grants.shift() ?? 0;
        if (revoked instanceof Error) throw revoked;
        return create(RevokeGrantsResponseSchema, { revoked, more: grants.length > 0 });
      },
    },
  );
  return { asked, withdraw: async () => client.delete(whose) };
}

it('the consent goes first, then all grants of the person at the application', async () => {
  const { asked, withdraw } = services({ grants: [1000, 7] });
  expect(await withdraw()).toMatchObject({ revokedGrants: 1007 });
  const revoked = ['revoke', { ...whose, reason: 'consent withdrawn' }];
  expect(asked).toEqual([['delete', whose], revoked, revoked]);
});

it('grants without a consent are revoked, as those that an unfinished call left', async () => {
  expect(await services({ hasConsent: false, grants: [2] }).withdraw()).toMatchObject({ revokedGrants: 2 });
  const nothing = services({ hasConsent: false }).withdraw();
  await expect(nothing).rejects.toMatchObject({ code: Code.NotFound });
});

it('a consent that is gone while grants may be left is one of which it is not known whether all was done', async () => {
  await expect(services({ grants: [temporarilyUnavailable()] }).withdraw()).rejects.toThrow(
    'It is not known whether this was done.',
  );
  const refused = new ConnectError('may not', Code.PermissionDenied);
  await expect(services({ grants: [refused] }).withdraw()).rejects.toBe(refused);
});
