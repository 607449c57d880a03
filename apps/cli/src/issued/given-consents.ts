import { toJson, type JsonObject } from '@bufbuild/protobuf';
import { ConsentSchema, ConsentsService } from '@tessera/proto-gen/admin-consents';
import { readPages } from '@tessera/rpc/caller';
import { orNotFound, withAdministration } from '../operate/records/with-service.ts';
import type { Format, PersonOptions } from '../options.ts';
import { personOf, requiredPerson } from '../people/person-options.ts';
import { printed } from '../print-records.ts';
import type { Terminal } from '../terminal.ts';

export interface ListOptions extends PersonOptions {
  readonly clientId: string;
  readonly limit: number;
  readonly output: Format;
}

export interface RevokeOptions extends PersonOptions {
  readonly clientId: string;
}

const timeoutMs = 60_000;
const columns = ['username', 'clientId', 'scopes', 'grantTime'];

/** Throws CommandError. */
export async function listConsents(options: ListOptions, terminal: Terminal): Promise<void> {
  const { tenant: tenantId, clientId, limit, output } = options;
  const consents = await withAdministration(terminal, {
    name: 'Reading',
    changes: false,
    timeoutMs,
    async run(clientOf, call) {
      const userId = await personOf(options, { clientOf, call });
      const { found } = await readPages(async (page) => {
        const answer = await clientOf(ConsentsService).list({ tenantId, userId, clientId, ...page }, call);
        return { found: answer.consents, nextPageToken: answer.nextPageToken };
      }, limit);
      return found;
    },
  });
  const records = consents.map((each) => toJson(ConsentSchema, each) as JsonObject);
  terminal.out(await printed(records, output, columns));
}

/** Revokes what a person allowed an application. Throws CommandError. */
export async function revokeConsent(options: RevokeOptions, terminal: Terminal): Promise<void> {
  const { tenant: tenantId, clientId } = options;
  const { revokedGrants } = await withAdministration(terminal, {
    name: 'Revoking the consent',
    changes: true,
    timeoutMs,
    async run(clientOf, call) {
      const userId = await requiredPerson(options, { clientOf, call });
      return clientOf(ConsentsService)
        .delete({ tenantId, userId, clientId }, call)
        .catch(orNotFound(`The person has allowed ${clientId} nothing in the tenant ${tenantId}.`));
    },
  });
  const revoked = `Revoked grants: ${revokedGrants}. Access tokens live until they expire.`;
  terminal.say(`${clientId} has to ask the person again. ${revoked}\n`);
}
