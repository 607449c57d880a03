import { ApplicationsService, type ApplicationSecret as Secret } from '@tessera/proto-gen/admin-applications';
import { DirectoryService } from '@tessera/proto-gen/directory';
import type { CallOptions } from '@tessera/rpc/caller';
import { defaultTenant } from '../../contexts/default-tenant.ts';
import type { Terminal } from '../../terminal.ts';
import { orNotFound, withService, type ClientOf } from './with-service.ts';

const timeoutMs = 10_000;

/**
 * Prints a line for each secret of an application. Who administers one tenant asks for its applications alone. Throws
 * CommandError when there is no such application.
 */
export async function listSecrets(
  { tenant, clientId }: { readonly tenant?: string; readonly clientId: string },
  terminal: Terminal,
): Promise<void> {
  const tenantId = tenant ?? (await defaultTenant(terminal));
  const secrets = await withService('directory', terminal, {
    name: 'Listing secrets',
    changes: false,
    timeoutMs,
    run: async (clientOf, call) =>
      secretsOf(tenantId, clientId, { clientOf, call }).catch(
        orNotFound(`There is no application ${clientId}.`),
      ),
  });
  if (secrets.length === 0) terminal.say(`${clientId} has no secrets.\n`);
  for (const secret of secrets) terminal.out(line(secret, terminal.now()));
}

async function secretsOf(
  named: string | undefined,
  clientId: string,
  { clientOf, call }: { readonly clientOf: ClientOf; readonly call: CallOptions },
): Promise<readonly Secret[]> {
  const tenantId =
    named ?? (await clientOf(DirectoryService).getApplication({ clientId }, call)).tenant?.tenantId ?? '';
  return (await clientOf(ApplicationsService).listSecrets({ tenantId, clientId }, call)).secrets;
}

function line({ secretId, createTime, expireTime, lastUseTime }: Secret, now: number): string {
  const word = expireTime !== undefined && Number(expireTime.seconds) * 1000 > now ? 'expires' : 'expired';
  const expiry = expireTime === undefined ? 'never expires' : `${word} ${iso(expireTime)}`;
  const use = lastUseTime === undefined ? 'never used' : `last used ${iso(lastUseTime)}`;
  return `${secretId}: declared ${iso(createTime)}, ${expiry}, ${use}\n`;
}

/** Without a fraction of a second. */
function iso(time: Secret['createTime']): string {
  return new Date(Number(time?.seconds ?? 0n) * 1000).toISOString().replace('.000', '');
}
