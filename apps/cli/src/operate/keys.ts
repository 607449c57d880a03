import { ConnectError } from '@tessera/rpc';
import { KeysService, KeyState } from '@tessera/proto-gen/keys';
import { CommandError, type Terminal } from '../terminal.ts';
import { orNotFound, withService } from './service.ts';

const instead = ' Only their own process can open embedded stores.';
const timeoutMs = 10_000;

const states: Readonly<Partial<Record<KeyState, string>>> = {
  [KeyState.CREATED]: 'created',
  [KeyState.PUBLISHED]: 'published',
  [KeyState.ACTIVE]: 'active',
  [KeyState.RETIRED]: 'retired',
};

/** Prints `kid` and state of each key in the key set, newest first. `tenantId` is empty for the shared issuer, here and below. */
export async function listKeys(tenantId: string, terminal: Terminal): Promise<void> {
  const { keys } = await withService('keys', terminal, {
    name: 'Listing the keys',
    instead,
    timeoutMs,
    run: async (clientOf, call) => clientOf(KeysService).getPublicKeys({ tenantId }, call),
  });
  for (const { kid, state } of keys) terminal.out(`${kid}  ${states[state] ?? 'unknown state'}\n`);
}

/**
 * Publishes the next key, which signs after the publication lead, or at once with `immediately`. Throws CommandError, also if
 * the outcome is unknown.
 */
export async function rotateKeys(
  { immediately, tenantId }: { readonly immediately: boolean; readonly tenantId: string },
  terminal: Terminal,
): Promise<void> {
  const { before, after } = await withService('keys', terminal, {
    name: 'Rotating the keys',
    instead,
    timeoutMs,
    run: async (clientOf, call) => {
      const keys = clientOf(KeysService);
      // Wait for an unavailable service here: a rotation whose response was lost must not be repeated.
      const known = (await keys.getPublicKeys({ tenantId }, call)).keys;
      const { activeKid } = await keys.rotateKeys({ immediately, tenantId }, call).catch(isUncertain);
      return { before: known.find(({ state }) => state === KeyState.ACTIVE)?.kid, after: activeKid };
    },
  });
  if (after === before) {
    terminal.say(
      `${after} remains active. The next key is published and becomes active after TESSERA_KEYS_PUBLISH_AHEAD (24h by default).\n`,
    );
    return;
  }
  terminal.say(
    `${after} is now active, in all processes within TESSERA_KEYS_RELOAD_INTERVAL (5s by default).\n` +
      'The previous key no longer signs, but its tokens stay valid until it leaves the key set after ' +
      `TESSERA_KEYS_RETENTION (7d by default). If it leaked: tessera keys withdraw --kid=${before}${tenantId === '' ? '' : ` --tenant ${tenantId}`}\n`,
  );
}

/** Removes a retired key from the key set. Throws CommandError if the key is unknown or active. */
export async function withdrawKey(
  { kid, tenantId }: { readonly kid: string; readonly tenantId: string },
  terminal: Terminal,
): Promise<void> {
  await withService('keys', terminal, {
    name: 'Withdrawing the key',
    instead,
    timeoutMs,
    run: async (clientOf, call) =>
      clientOf(KeysService)
        .withdrawKey({ kid, tenantId }, call)
        .catch(orNotFound(`There is no key ${kid} in the key set.`)),
  });
  terminal.say(
    `${kid} is no longer in the key set. Verifiers reject its tokens as soon as they fetch the keys again.\n`,
  );
}

function isUncertain(error: unknown): never {
  if (error instanceof ConnectError) throw error;
  throw new CommandError(
    'Lost the connection to a store or service: the keys may or may not have been rotated. Run tessera keys list before you retry.',
  );
}
