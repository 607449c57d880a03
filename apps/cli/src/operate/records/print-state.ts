import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { Code, ConnectError, type CallOptions } from '@tessera/rpc/caller';
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
    run: async (clientOf, call) =>
      tenantId === undefined
        ? ofAllTenants(clientOf, call)
        : documentOf(tenantId, clientOf, call).catch(orNotFound(`There is no tenant ${tenantId}.`)),
  });
  terminal.out(document);
}

async function documentOf(tenantId: string, clientOf: ClientOf, call: CallOptions): Promise<string> {
  return (await clientOf(DeclaredStateService).get({ tenantId }, call)).document;
}

/** In the order of their identifiers. */
async function ofAllTenants(clientOf: ClientOf, call: CallOptions): Promise<string> {
  const entries: string[] = [];
  let pageToken = '';
  do {
    const page = await clientOf(TenantsService).list({ pageSize: 1000, pageToken }, call);
    for (const { tenantId } of page.tenants) {
      const document = await documentOf(tenantId, clientOf, call).catch(emptyIfDeleted);
      entries.push(document.replace(/^tenants:\n/, ''));
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return entries.length === 0 ? 'tenants: []\n' : `tenants:\n${entries.join('')}`;
}

/** A tenant may be deleted after it was listed. */
function emptyIfDeleted(error: unknown): string {
  if (error instanceof ConnectError && error.code === Code.NotFound) return '';
  throw error;
}
