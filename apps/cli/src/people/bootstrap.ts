import { BootstrapService } from '@tessera/proto-gen/directory';
import { issuerOf } from '../at-hand/issuer-at-hand.ts';
import { withService } from '../operate/records/with-service.ts';
import type { Terminal } from '../terminal.ts';
import { shownLink } from './password-link.ts';

export interface BootstrapOptions {
  readonly username: string;
  readonly email: string;
  readonly name: string;
  readonly issuer?: string;
}

/** Prints the link of the first administrator. Throws CommandError, also if there is an administrator. */
export async function bootstrap({ issuer, ...person }: BootstrapOptions, terminal: Terminal): Promise<void> {
  const made = await withService('directory', terminal, {
    name: 'Making the first administrator',
    changes: true,
    timeoutMs: 10_000,
    run: async (clientOf, call) => clientOf(BootstrapService).createFirstAdministrator(person, call),
  });
  const { link, expireTime } = shownLink(made, await issuerOf({ issuer }, terminal));
  terminal.out(`${link}\n`);
  terminal.say(
    `With it, once and until ${expireTime}, ${made.username} of the tenant ${made.tenantId} sets a password.\n`,
  );
}
