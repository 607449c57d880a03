import { UsersService } from '@tessera/proto-gen/admin-users';
import { counted, impactLines, requireValidateOnly } from '../operate/records/show-impact.ts';
import type { PersonOptions } from '../options.ts';
import type { Terminal } from '../terminal.ts';
import { withPerson } from './password-link.ts';

export interface ResetFactorsOptions extends PersonOptions {
  readonly validateOnly: boolean;
  readonly impact: boolean;
}

const names: Readonly<Record<string, string>> = { totp: 'the authenticator app', passkey: 'the passkeys' };

/** Removes the second factors of a person. Throws CommandError. */
export async function resetFactors(options: ResetFactorsOptions, terminal: Terminal): Promise<void> {
  const { validateOnly, impact: isAsked, tenant } = options;
  requireValidateOnly(options);
  const { called, result } = await withPerson(
    options,
    terminal,
    'Resetting second factors',
    async ({ clientOf, call }, person) =>
      clientOf(UsersService).resetSecondFactors({ ...person, validateOnly, impact: isAsked }, call),
  );
  const { removed, impact } = result;
  if (removed.length === 0) return terminal.say(`${called} has no second factor. Nothing has changed.\n`);
  const what = removed.map((factor) => names[factor] ?? factor).join(' and ');
  if (impact !== undefined)
    for (const ended of await counted([impact], terminal))
      for (const line of impactLines(tenant, ended)) terminal.out(line);
  if (validateOnly) return terminal.say(`This removes ${what} of ${called} and ends all sign-ins.\n`);
  terminal.say(`Removed of ${called}: ${what}. All sign-ins have ended.\n`);
}
