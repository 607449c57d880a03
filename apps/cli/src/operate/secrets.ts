import { Code, ConnectError } from '@tessera/kit';
import type { ApplicationSecret } from '@tessera/proto-gen/directory';
import { CommandError, type Terminal } from '../terminal.ts';
import { withDirectory } from './directory.ts';

const timeoutMs = 10_000;

/** Prints a line for each secret of an application. Throws CommandError when there is no such application. */
export async function listSecrets(clientId: string, terminal: Terminal): Promise<void> {
  const { secrets } = await withDirectory(terminal, {
    name: 'Listing secrets',
    instead: ' Embedded stores are open to their process alone.',
    timeoutMs,
    run: async (admin, call) =>
      admin.listApplicationSecrets({ clientId }, call).catch((error: unknown) => {
        if (error instanceof ConnectError && error.code === Code.NotFound)
          throw new CommandError(`There is no application ${clientId}.`);
        throw error;
      }),
  });
  if (secrets.length === 0) terminal.say(`${clientId} has no secrets.\n`);
  for (const [index, secret] of secrets.entries()) terminal.out(line(index + 1, secret, terminal.now()));
}

function line(number: number, secret: ApplicationSecret, now: number): string {
  const { createdAt, expiresAt, lastUsedAt } = secret;
  const word = Number(expiresAt) * 1000 > now ? 'expires' : 'expired';
  const expiry = expiresAt === 0n ? 'never expires' : `${word} ${iso(expiresAt)}`;
  const use = lastUsedAt === 0n ? 'never used' : `last used ${iso(lastUsedAt)}`;
  return `${number}: declared ${iso(createdAt)}, ${expiry}, ${use}\n`;
}

/** Of seconds since the Unix epoch, without the fraction that they do not have. */
function iso(seconds: bigint): string {
  return new Date(Number(seconds) * 1000).toISOString().replace('.000', '');
}
