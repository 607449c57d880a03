import { eventBase } from '@tessera/audit';
import type { KeysService } from '@tessera/proto-gen/admin-keys';
import { Code, ConnectError, timestampFromMs, type CallContext, type Handlers } from '@tessera/rpc';
import type { IssuerKeys } from './rings/issuer-keys.ts';
import type { KeyRings } from './rings/key-rings.ts';
import type { StoredKey } from './store.ts';

/** The calls of administrators. They make no first key: an issuer without keys was named by mistake. */
export function keyCalls(rings: KeyRings): Handlers<typeof KeysService> {
  async function present(tenantId: string): Promise<readonly StoredKey[]> {
    const keys = await rings.stored(tenantId);
    if (keys.length > 0) return keys;
    throw new ConnectError(
      tenantId === '' ? 'There are no keys yet.' : `The tenant ${tenantId} has no keys of its own.`,
      Code.NotFound,
    );
  }
  return {
    list: async ({ tenantId }) => ({ keys: (await present(tenantId)).map(signingKey) }),
    async rotate({ tenantId, immediately }, context) {
      await present(tenantId);
      await (await rings.of(tenantId)).rotate(immediately, eventBase(context));
      return { keys: (await present(tenantId)).map(signingKey) };
    },
    async withdraw({ tenantId, kid }, context) {
      await present(tenantId);
      await withdraw(await rings.of(tenantId), kid, context);
      return {};
    },
  };
}

/** Throws ConnectError for a key that is in use, and for an unknown one. */
async function withdraw(keys: IssuerKeys, kid: string, context: CallContext): Promise<void> {
  const outcome = await keys.withdraw(kid, eventBase(context));
  if (outcome === 'in_use')
    throw new ConnectError(
      'The key is active or the next to be. Rotate the keys first.',
      Code.FailedPrecondition,
    );
  if (outcome === 'unknown') throw new ConnectError('There is no such key.', Code.NotFound);
}

function signingKey({ kid, algorithm, state, publishedAt, activatedAt, retiredAt }: StoredKey) {
  return {
    kid,
    algorithm,
    state,
    publishTime: timestampFromMs(publishedAt),
    ...(activatedAt !== undefined && { activateTime: timestampFromMs(activatedAt) }),
    ...(retiredAt !== undefined && { retireTime: timestampFromMs(retiredAt) }),
  };
}
