import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { DirectoryAdminService } from '@tessera/proto-gen/directory';
import type { CallOptions } from '@tessera/rpc/caller';
import { defaultTenant } from '../../contexts/default-tenant.ts';
import type { Terminal } from '../../terminal.ts';
import { orNotFound, withService, type ClientOf } from './with-service.ts';

const timeoutMs = 10_000;

/** A secret as lines tell it; times in seconds since the Unix epoch, 0 for never. */
interface Told {
  /** Empty of a directory of version 0.1. */
  readonly secretId: string;
  readonly createdAt: bigint;
  readonly expiresAt: bigint;
  readonly lastUsedAt: bigint;
}

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
  for (const [index, secret] of secrets.entries()) terminal.out(line(index + 1, secret, terminal.now()));
}

async function secretsOf(
  tenantId: string | undefined,
  clientId: string,
  { clientOf, call }: { readonly clientOf: ClientOf; readonly call: CallOptions },
): Promise<readonly Told[]> {
  if (tenantId === undefined)
    return (await clientOf(DirectoryAdminService).listApplicationSecrets({ clientId }, call)).secrets;
  const { secrets } = await clientOf(ApplicationsService).listSecrets({ tenantId, clientId }, call);
  return secrets.map(({ secretId, createTime, expireTime, lastUseTime }) => ({
    secretId,
    createdAt: createTime?.seconds ?? 0n,
    expiresAt: expireTime?.seconds ?? 0n,
    lastUsedAt: lastUseTime?.seconds ?? 0n,
  }));
}

/** Compatibility until 0.3: a directory of version 0.1 does not name them. */
function line(number: number, secret: Told, now: number): string {
  const { secretId, createdAt, expiresAt, lastUsedAt } = secret;
  const word = Number(expiresAt) * 1000 > now ? 'expires' : 'expired';
  const expiry = expiresAt === 0n ? 'never expires' : `${word} ${iso(expiresAt)}`;
  const use = lastUsedAt === 0n ? 'never used' : `last used ${iso(lastUsedAt)}`;
  return `${secretId || number}: declared ${iso(createdAt)}, ${expiry}, ${use}\n`;
}

/** Seconds since the Unix epoch as ISO 8601, without a fraction. */
function iso(seconds: bigint): string {
  return new Date(Number(seconds) * 1000).toISOString().replace('.000', '');
}
