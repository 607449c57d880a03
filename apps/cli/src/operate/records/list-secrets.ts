import { DirectoryAdminService, type ApplicationSecret } from '@tessera/proto-gen/directory';
import type { Terminal } from '../../terminal.ts';
import { orNotFound, withService } from './with-service.ts';

const timeoutMs = 10_000;

/** Prints a line for each secret of an application. Throws CommandError when there is no such application. */
export async function listSecrets(clientId: string, terminal: Terminal): Promise<void> {
  const { secrets } = await withService('directory', terminal, {
    name: 'Listing secrets',
    changes: false,
    timeoutMs,
    run: async (clientOf, call) =>
      clientOf(DirectoryAdminService)
        .listApplicationSecrets({ clientId }, call)
        .catch(orNotFound(`There is no application ${clientId}.`)),
  });
  if (secrets.length === 0) terminal.say(`${clientId} has no secrets.\n`);
  for (const [index, secret] of secrets.entries()) terminal.out(line(index + 1, secret, terminal.now()));
}

/** Compatibility until 0.3: a directory of version 0.1 does not name them. */
function line(number: number, secret: ApplicationSecret, now: number): string {
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
