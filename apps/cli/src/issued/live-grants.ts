import { toJson, type JsonObject } from '@bufbuild/protobuf';
import { GrantSchema, GrantsService } from '@tessera/proto-gen/admin-grants';
import { readPages } from '@tessera/rpc/caller';
import { orNotFound, withAdministration } from '../operate/records/with-service.ts';
import type { Format, PersonOptions } from '../options.ts';
import { printed } from '../print-records.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { personOf } from '../people/person-options.ts';

interface WhoseOptions extends PersonOptions {
  readonly clientId: string;
}

export interface ListOptions extends WhoseOptions {
  readonly limit: number;
  readonly output: Format;
}

export interface RevokeOptions extends WhoseOptions {
  readonly grantId: string;
  readonly reason: string;
}

const timeoutMs = 60_000;
const columns = ['grantId', 'clientId', 'username', 'scopes', 'createTime', 'lastUseTime'];

/** Throws CommandError. */
export async function listGrants(options: ListOptions, terminal: Terminal): Promise<void> {
  const { tenant: tenantId, clientId, limit, output } = options;
  const grants = await withAdministration(terminal, {
    name: 'Reading',
    changes: false,
    timeoutMs,
    async run(clientOf, call) {
      const userId = await personOf(options, { clientOf, call });
      requireOne(userId, clientId);
      const { found } = await readPages(async (page) => {
        const answer = await clientOf(GrantsService).list({ tenantId, userId, clientId, ...page }, call);
        return { found: answer.grants, nextPageToken: answer.nextPageToken };
      }, limit);
      return found;
    },
  });
  const records = grants.map((each) => toJson(GrantSchema, each) as JsonObject);
  terminal.out(await printed(records, output, columns));
}

/** Revokes the grant that is named, else all of the person or application. Throws CommandError. */
export async function revokeGrants(options: RevokeOptions, terminal: Terminal): Promise<void> {
  const { tenant: tenantId, clientId, grantId, reason } = options;
  const revoked = await withAdministration(terminal, {
    name: 'Revoking the grants',
    changes: true,
    timeoutMs,
    async run(clientOf, call) {
      const userId = await personOf(options, { clientOf, call });
      if (grantId === '') requireOne(userId, clientId);
      let sum = 0;
      for (let more = true; more;) {
        const answer = await clientOf(GrantsService)
          .revokeGrants({ tenantId, grantId, userId, clientId, reason }, call)
          .catch(orNotFound(`There is no grant ${grantId} in the tenant ${tenantId}.`));
        sum += answer.revoked;
        more = answer.more;
      }
      return sum;
    },
  });
  terminal.say(`Revoked grants: ${revoked}. Access tokens live until they expire.\n`);
}

function requireOne(userId: string, clientId: string): void {
  if (userId === '' && clientId === '')
    throw new CommandError('Say whose: --username, --user-id or --client-id.', 2);
}
