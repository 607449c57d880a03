import { ConnectError } from '@tessera/rpc';
import { KeysService, KeyState } from '@tessera/proto-gen/keys';
import { CommandError, type Terminal } from '../terminal.ts';
import { orNotFound, withService } from './service.ts';

const instead = ' Embedded stores are open to their process alone.';
const timeoutMs = 10_000;

const states: Readonly<Partial<Record<KeyState, string>>> = {
  [KeyState.CREATED]: 'created',
  [KeyState.PUBLISHED]: 'published',
  [KeyState.ACTIVE]: 'active',
  [KeyState.RETIRED]: 'retired',
};

/** Prints a line for each key that verifiers are told of, newest first: its `kid` and its state. */
export async function listKeys(terminal: Terminal): Promise<void> {
  const { keys } = await withService('keys', terminal, {
    name: 'Listing the keys',
    instead,
    timeoutMs,
    run: async (clientOf, call) => clientOf(KeysService).getPublicKeys({}, call),
  });
  for (const { kid, state } of keys) terminal.out(`${kid}  ${states[state] ?? 'of another state'}\n`);
}

/**
 * Publishes the next key, which signs after the publication lead, or with `immediately` at once. Throws CommandError, also
 * where it cannot be known whether the keys were rotated.
 */
export async function rotateKeys(immediately: boolean, terminal: Terminal): Promise<void> {
  const { before, after } = await withService('keys', terminal, {
    name: 'Rotating the keys',
    instead,
    timeoutMs,
    run: async (clientOf, call) => {
      const keys = clientOf(KeysService);
      // What is away is waited for here: a rotation whose answer was lost must not be asked for twice.
      const known = (await keys.getPublicKeys({}, call)).keys;
      const { activeKid } = await keys.rotateKeys({ immediately }, call).catch(isUncertain);
      return { before: known.find(({ state }) => state === KeyState.ACTIVE)?.kid, after: activeKid };
    },
  });
  if (after === before) {
    terminal.say(
      `${after} goes on signing. The next key is published; it takes over after TESSERA_KEYS_PUBLISH_AHEAD (24h by default).\n`,
    );
    return;
  }
  terminal.say(
    `${after} signs from now on, in all processes within TESSERA_KEYS_RELOAD_INTERVAL (5s by default).\n` +
      'The key before it signs no more, but stays in the key set: what was signed with it is trusted until ' +
      `TESSERA_KEYS_RETENTION (7d by default) is over. If it leaked: tessera keys withdraw --kid=${before}\n`,
  );
}

/** Takes a retired key out of the key set. Throws CommandError where there is none of that name, or one that signs. */
export async function withdrawKey(kid: string, terminal: Terminal): Promise<void> {
  await withService('keys', terminal, {
    name: 'Withdrawing the key',
    instead,
    timeoutMs,
    run: async (clientOf, call) =>
      clientOf(KeysService)
        .withdrawKey({ kid }, call)
        .catch(orNotFound(`There is no key ${kid} in the key set.`)),
  });
  terminal.say(
    `${kid} is no longer in the key set. What it signed is refused as soon as verifiers fetch the keys again.\n`,
  );
}

function isUncertain(error: unknown): never {
  if (error instanceof ConnectError) throw error;
  throw new CommandError(
    'A store or service went away: the keys may have been rotated or not. Look with tessera keys list before you ask again.',
  );
}
