import { UsersService, type UserCredentials } from '@tessera/proto-gen/admin-users';
import { counted, impactLines } from '../operate/records/show-impact.ts';
import { orNotFound } from '../operate/records/with-service.ts';
import type { PersonOptions } from '../options.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { withPerson } from './password-link.ts';
import { waysLeftLines } from './told-ways.ts';

export interface RemoveCredentialOptions extends PersonOptions {
  /** Its name, or its ID. */
  readonly passkey?: string;
  readonly provider?: string;
  readonly app: boolean;
  readonly validateOnly: boolean;
}

/** What is removed, as the call names it, and in words. */
interface Named {
  readonly credential:
    | { readonly case: 'passkeyId' | 'provider'; readonly value: string }
    | { readonly case: 'totp'; readonly value: true };
  readonly what: string;
}

/** Removes one of the things that a person signs in with, and says what is left to them. Throws CommandError. */
export async function removeCredential(options: RemoveCredentialOptions, terminal: Terminal): Promise<void> {
  const { passkey, provider, app, validateOnly, tenant } = options;
  if ([passkey !== undefined, provider !== undefined, app].filter(Boolean).length !== 1)
    throw new CommandError('Say what to remove: one of --passkey, --provider or --app.', 2);
  const { called, result } = await withPerson(
    options,
    terminal,
    'Removing a way in',
    async ({ clientOf, call }, person) => {
      const users = clientOf(UsersService);
      const { credential, what } = namedIn(await users.getCredentials(person, call), options);
      const request = { ...person, credential, validateOnly, impact: validateOnly };
      const answer = await users
        .deleteCredential(request, call)
        .catch(orNotFound('It was removed meanwhile. Nothing has changed.'));
      return { ...answer, what };
    },
  );
  const { what, waysLeft, impact } = result;
  if (impact !== undefined)
    for (const ended of await counted([impact], terminal))
      for (const line of impactLines(tenant, ended)) terminal.out(line);
  terminal.say(
    validateOnly
      ? `This removes ${what} of ${called} and ends all sign-ins.\n`
      : `Removed of ${called}: ${what}. All sign-ins have ended.\n`,
  );
  for (const line of waysLeftLines(waysLeft)) terminal.say(line);
  if (waysLeft.length === 0)
    terminal.say('Nothing else lets them in. To let them back in, make a link: tessera user reset-link.\n');
}

/** Throws CommandError for what the person does not have, and for a name that is not of one passkey alone. */
function namedIn(
  { passkeys, providers, hasTotp }: UserCredentials,
  { passkey, provider }: RemoveCredentialOptions,
): Named {
  const nothing = (what: string) => new CommandError(`They have no ${what}. Nothing has changed.`);
  if (provider !== undefined) {
    if (!providers.some(({ name }) => name === provider)) throw nothing(`link with the provider ${provider}`);
    return {
      credential: { case: 'provider', value: provider },
      what: `the link with the provider ${provider}`,
    };
  }
  if (passkey === undefined) {
    if (!hasTotp) throw nothing('authenticator app');
    return { credential: { case: 'totp', value: true }, what: 'the authenticator app' };
  }
  const byId = passkeys.filter(({ passkeyId }) => passkeyId === passkey);
  const found = byId.length > 0 ? byId : passkeys.filter(({ name }) => name === passkey);
  const [one, another] = found;
  if (one === undefined) throw nothing(`passkey ${passkey}`);
  if (another !== undefined) {
    const ids = found.map(({ passkeyId }) => passkeyId).join(', ');
    throw new CommandError(`Several passkeys have the name ${passkey}. Name one by its ID: ${ids}.`);
  }
  return { credential: { case: 'passkeyId', value: one.passkeyId }, what: `the passkey ${one.name}` };
}
