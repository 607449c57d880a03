import { UsersService } from '@tessera/proto-gen/admin-users';
import { counted, impactLines } from '../operate/records/show-impact.ts';
import type { PersonOptions } from '../options.ts';
import type { Terminal } from '../terminal.ts';
import { withPerson } from './password-link.ts';

export interface LockdownOptions extends PersonOptions {
  readonly validateOnly: boolean;
}

const names: Readonly<Record<string, string>> = {
  password: 'the password',
  passkey: 'the passkeys',
  provider: 'a linked provider',
  mail_code: 'a code by mail',
};

/** Shuts everybody out of the account of a person, and says what that ended. Throws CommandError. */
export async function lockdown(options: LockdownOptions, terminal: Terminal): Promise<void> {
  const { validateOnly, tenant } = options;
  const { called, result } = await withPerson(
    options,
    terminal,
    'Locking down',
    async ({ clientOf, call }, person) =>
      clientOf(UsersService).lockDown({ ...person, validateOnly, impact: true }, call),
  );
  const { removed, waysLeft, impact } = result;
  if (impact !== undefined) {
    const { ends: _, ...carriedOut } = impact;
    // Once it has ended there is nothing left to count, and nothing may keep it from ending.
    for (const ended of validateOnly ? await counted([impact], terminal) : [carriedOut])
      for (const line of impactLines(tenant, ended)) terminal.out(line);
  }
  const gone = removed.length === 0 ? '' : ` and removes ${listed(removed)}`;
  if (validateOnly) return terminal.say(`This ends all sign-ins of ${called}${gone}.\n`);
  terminal.say(`${called} is locked down: all sign-ins have ended.\n`);
  if (removed.length > 0) terminal.say(`Removed: ${listed(removed)}.\n`);
  if (waysLeft.length > 0) terminal.say(`They can still sign in with ${listed(waysLeft)}.\n`);
  terminal.say('To let them back in, make a link: tessera user reset-link.\n');
}

function listed(ways: readonly string[]): string {
  return ways.map((way) => names[way] ?? way).join(' and ');
}
