import { Code, ConnectError } from '@tessera/rpc';
import type { CallContext, Handlers } from '@tessera/rpc';
import { KeyState, TokenType } from '@tessera/proto-gen/keys';
import type { KeysService, SigningItem } from '@tessera/proto-gen/keys';
import type { KeyRings } from './key-rings.ts';
import type { Signer, SigningInput, TokenKind } from './signer.ts';
import type { Origin, StoredState } from './store.ts';

const maximumItems = 1024;

const kinds: Readonly<Partial<Record<TokenType, TokenKind>>> = {
  [TokenType.ACCESS_TOKEN]: 'accessToken',
  [TokenType.ID_TOKEN]: 'idToken',
  [TokenType.LOGOUT_TOKEN]: 'logoutToken',
};

const states: Readonly<Record<StoredState, KeyState>> = {
  published: KeyState.PUBLISHED,
  active: KeyState.ACTIVE,
  retired: KeyState.RETIRED,
};

export function keysHandlers(rings: KeyRings, signer: Signer): Handlers<typeof KeysService> {
  return {
    async sign({ items, tenantId }) {
      if (items.length > maximumItems) {
        throw new ConnectError(`At most ${maximumItems} items can be signed at once.`, Code.InvalidArgument);
      }
      const inputs = items.map(signingInput);
      const ring = await rings.of(tenantId);
      return { tokens: await signer.sign(ring.current(), inputs), tenantId };
    },
    async getPublicKeys({ tenantId }) {
      const keys = (await rings.of(tenantId)).published();
      return {
        tenantId,
        keys: keys.map((key) => ({
          kid: key.kid,
          state: states[key.state],
          n: key.modulus,
          e: key.exponent,
        })),
      };
    },
    async rotateKeys({ immediately, tenantId }, context) {
      const ring = await rings.of(tenantId);
      return { activeKid: await ring.rotate(immediately, originOf(context)) };
    },
    async withdrawKey({ kid, tenantId }, context) {
      const ring = await rings.of(tenantId);
      switch (await ring.withdraw(kid, originOf(context))) {
        case 'withdrawn':
          return {};
        case 'in_use':
          throw new ConnectError(
            'The key is active or the next to be. Rotate the keys first.',
            Code.FailedPrecondition,
          );
        case 'unknown':
          throw new ConnectError('There is no such key.', Code.NotFound);
      }
    },
  };
}

function originOf({ caller, requestId }: CallContext): Origin {
  return { actor: { type: 'operator', id: caller }, requestId };
}

function signingInput({ type, payload, atHashOf }: SigningItem, index: number): SigningInput {
  const kind = kinds[type];
  if (kind === undefined || payload.length === 0) {
    throw new ConnectError('Every item needs a token type and a payload.', Code.InvalidArgument);
  }
  if (atHashOf === undefined) return { kind, payload };
  if (atHashOf >= index) {
    throw new ConnectError('An item can only contain the hash of an earlier item.', Code.InvalidArgument);
  }
  return { kind, claims: claimsOf(payload), atHashOf };
}

function claimsOf(payload: Uint8Array): object {
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload).toString('utf8'));
    if (typeof claims === 'object' && claims !== null && !Array.isArray(claims)) return claims;
  } catch {
    // Reported below, like any other text that is not an object.
  }
  throw new ConnectError('A payload to which a claim is added must be a JSON object.', Code.InvalidArgument);
}
