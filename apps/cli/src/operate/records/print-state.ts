import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { DirectoryAdminService } from '@tessera/proto-gen/directory';
import { whereOffered, type CallOptions } from '@tessera/rpc/caller';
import type { Terminal } from '../../terminal.ts';
import { orNotFound, withService, type ClientOf } from './with-service.ts';

/** Tenants are read one after the other. */
const timeoutMs = 60_000;

/** Prints one tenant or all of them as declared state. Throws CommandError if there is no such tenant. */
export async function printState(tenantId: string | undefined, terminal: Terminal): Promise<void> {
  const document = await withService('directory', terminal, {
    name: 'Reading what is declared',
    changes: false,
    timeoutMs,
    async run(clientOf, call) {
      if (tenantId === undefined) return ofTenants('', clientOf, call);
      const found = clientOf(DeclaredStateService).get({ tenantId }, call);
      return whereOffered(
        found.then((answer) => answer.document),
        // Compatibility until 0.3: version 0.1 writes a tenant only so.
        async () => ofTenants(tenantId, clientOf, call),
      ).catch(orNotFound(`There is no tenant ${tenantId}.`));
    },
  });
  terminal.out(document);
}

/** @param tenantId '' for all */
async function ofTenants(tenantId: string, clientOf: ClientOf, call: CallOptions): Promise<string> {
  const documents: string[] = [];
  const answers = clientOf(DirectoryAdminService).getDeclaredState({ tenantId }, call);
  for await (const { document } of answers) documents.push(document);
  return documents.length === 0 ? 'tenants: []\n' : `tenants:\n${documents.join('')}`;
}
