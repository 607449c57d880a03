import { eventBase } from '@tessera/audit';
import type { ConsentsService } from '@tessera/proto-gen/admin-consents';
import {
  Code,
  ConnectError,
  invalidFields,
  pageOf,
  pageRequest,
  pageToken,
  timestampFromMs,
  type Handlers,
} from '@tessera/rpc';
import type { ConsentAudit } from './consent-audit.ts';
import type { CountingConsent, SelectCounting } from './counting-consents.ts';
import type { ConsentKey, ConsentPosition, ConsentStore, ListedConsent } from './consents.postgres.ts';

interface ConsentCallsDeps {
  readonly consents: Pick<ConsentStore, 'find' | 'list' | 'revoke'>;
  readonly selectCounting: SelectCounting;
  readonly audit: Pick<ConsentAudit, 'revokedBy'>;
}

/** The calls of administrators. */
export function consentCalls(deps: ConsentCallsDeps): Handlers<typeof ConsentsService> {
  const { consents, selectCounting, audit } = deps;
  return {
    async list({ tenantId, userId, clientId, ...asked }, context) {
      const search = JSON.stringify([userId, clientId]);
      const { after, size } = pageRequest({ ...asked, search });
      // Neither has a space.
      const [user = '', client = ''] = after.split(' ');
      const key = { tenantId, userId, clientId };
      const found = await listed(consents, key, { userId: user, clientId: client }, size + 1);
      const { page, last } = pageOf(found, { size });
      const counting = await selectCounting(tenantId, page, () => context.onward());
      return {
        consents: counting.map(messageOf),
        nextPageToken: pageToken(last && `${last.userId} ${last.clientId}`, { search }),
      };
    },

    async delete({ tenantId, userId, clientId }, context) {
      if (userId === '' || clientId === '')
        throw invalidFields([{ field: 'userId', description: 'and clientId are required' }]);
      const consent = { tenantId, userId, clientId };
      if (!(await consents.revoke(consent, audit.revokedBy(eventBase(context), consent))))
        throw new ConnectError('There is no such consent.', Code.NotFound);
      return {};
    },
  };
}

/** Those of a person, for an application, of a person for an application, or of the tenant. */
async function listed(
  consents: ConsentCallsDeps['consents'],
  { tenantId, userId, clientId }: ConsentKey,
  after: ConsentPosition,
  limit: number,
): Promise<ListedConsent[]> {
  if (clientId === '')
    return consents.list({ tenantId, ...(userId !== '' && { userIds: [userId] }) }, after, limit);
  if (userId === '') return consents.list({ tenantId, clientId }, after, limit);
  const key = { tenantId, userId, clientId };
  const consent = after.userId === '' ? await consents.find(key) : undefined;
  return consent === undefined ? [] : [{ ...key, ...consent }];
}

function messageOf({ consent, username }: CountingConsent) {
  const { userId, clientId, scopes, grantedAt } = consent;
  return { userId, clientId, scopes: [...scopes], grantTime: timestampFromMs(grantedAt * 1000), username };
}
