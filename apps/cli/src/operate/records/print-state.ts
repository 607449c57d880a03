import { DirectoryAdminService } from '@tessera/proto-gen/directory';
import type { Terminal } from '../../terminal.ts';
import { orNotFound, withService } from './with-service.ts';

/** Tenants are read one after the other. */
const timeoutMs = 60_000;

/** Prints one tenant or all of them as declared state. Throws CommandError if there is no such tenant. */
export async function printState(tenantId: string | undefined, terminal: Terminal): Promise<void> {
  const documents = await withService('directory', terminal, {
    name: 'Reading what is declared',
    timeoutMs,
    run: (clientOf, call) =>
      documentsOf(clientOf(DirectoryAdminService).getDeclaredState({ tenantId: tenantId ?? '' }, call)).catch(
        orNotFound(`There is no tenant ${tenantId}.`),
      ),
  });
  terminal.out(documents.length === 0 ? 'tenants: []\n' : `tenants:\n${documents.join('')}`);
}

async function documentsOf(tenants: AsyncIterable<{ readonly document: string }>): Promise<string[]> {
  const documents: string[] = [];
  for await (const { document } of tenants) documents.push(document);
  return documents;
}
