import { toJson, type JsonObject } from '@bufbuild/protobuf';
import { KeysService, SigningKeySchema } from '@tessera/proto-gen/admin-keys';
import { ConnectError } from '@tessera/rpc/caller';
import type { Format } from '../../options.ts';
import { printed } from '../../print-records.ts';
import { CommandError, type Terminal } from '../../terminal.ts';
import { orNotFound, withService } from './with-service.ts';

const timeoutMs = 10_000;
/** An immediate rotation waits until every process has loaded the key again, a minute at most. */
const rotationTimeoutMs = 90_000;

/**
 * Prints the keys in the key set, by algorithm, newest first. `tenantId` is empty for the shared issuer, here and
 * below.
 */
export async function listKeys(
  { tenantId, output }: { readonly tenantId: string; readonly output: Format },
  terminal: Terminal,
): Promise<void> {
  const { keys } = await withService('keys', terminal, {
    name: 'Listing the keys',
    changes: false,
    timeoutMs,
    run: async (clientOf, call) => clientOf(KeysService).list({ tenantId }, call),
  });
  const records = keys.map((key) => toJson(SigningKeySchema, key) as JsonObject);
  terminal.out(await printed(records, output, ['kid', 'state', 'algorithm', 'publishTime', 'activateTime']));
}

/**
 * Publishes the next key of each algorithm, which signs after the publication lead, or within seconds with
 * `immediately`. Throws CommandError, also if the outcome is unknown.
 */
export async function rotateKeys(
  { immediately, tenantId }: { readonly immediately: boolean; readonly tenantId: string },
  terminal: Terminal,
): Promise<void> {
  const { before, after } = await withService('keys', terminal, {
    name: 'Rotating the keys',
    changes: true,
    timeoutMs: rotationTimeoutMs,
    run: async (clientOf, call) => {
      const keys = clientOf(KeysService);
      // Wait for an unavailable service here: a rotation whose response was lost must not be repeated.
      const known = (await keys.list({ tenantId }, call)).keys;
      const rotated = await keys.rotate({ immediately, tenantId }, call).catch(isUncertain);
      return { before: known.filter(isActive), after: rotated.keys.filter(isActive) };
    },
  });
  const remaining = after.filter(({ kid }) => before.some((key) => key.kid === kid));
  const fresh = after.filter((key) => !remaining.includes(key));
  for (const { kid, algorithm } of remaining) terminal.say(`${kid} remains active for ${algorithm}.\n`);
  if (remaining.length > 0) {
    terminal.say(
      'The next key is published and becomes active after TESSERA_KEYS_PUBLISH_AHEAD (24h by default).\n',
    );
  }
  for (const { kid, algorithm } of fresh) terminal.say(`${kid} is now active for ${algorithm}.\n`);
  if (fresh.length === 0) return;
  if (immediately)
    terminal.say(
      'Verifiers that do not fetch the key set for an unknown key reject new tokens until their copy expires (TESSERA_JWKS_MAX_AGE, 5m by ' +
        'default).\n',
    );
  const retired = before.filter((key) => !remaining.some(({ kid }) => kid === key.kid));
  terminal.say(
    'All processes sign with it within five seconds. The previous key no longer signs, but its tokens stay ' +
      'valid until it leaves the key set after seven days. If it leaked:\n',
  );
  const tenant = tenantId === '' ? '' : ` --tenant ${tenantId}`;
  for (const { kid } of retired) terminal.say(`tessera keys revoke --kid=${kid}${tenant}\n`);
}

const isActive = ({ state }: { readonly state: string }) => state === 'active';

/** Removes a retired key from the key set. Throws CommandError if the key is unknown or active. */
export async function revokeKey(
  { kid, tenantId }: { readonly kid: string; readonly tenantId: string },
  terminal: Terminal,
): Promise<void> {
  await withService('keys', terminal, {
    name: 'Revoking the key',
    changes: true,
    timeoutMs,
    run: async (clientOf, call) =>
      clientOf(KeysService)
        .withdraw({ kid, tenantId }, call)
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
