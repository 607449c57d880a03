import { Code, ConnectError, type Handlers } from '@tessera/rpc';
import { defaultSigningAlgorithm, isSigningAlgorithm, type SigningAlgorithmName } from '@tessera/oauth';
import { KeyState, TokenType } from '@tessera/proto-gen/keys';
import type { KeysService, SigningItem } from '@tessera/proto-gen/keys';
import type { KeyRings } from './rings/key-rings.ts';
import type { Signer, SigningInput, SigningKey, TokenKind } from './signer.ts';
import type { StoredKey, StoredState } from './store.ts';

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
      const keys = await rings.of(tenantId);
      await keys.begin(new Set(items.map(({ algorithm }) => knownOrDefault(algorithm))));
      const keyOf = (algorithm: string) => keys.current(knownOrDefault(algorithm));
      const inputs = items.map((item, index) => signingInput(item, index, keyOf));
      return { tokens: await signer.sign(inputs), tenantId };
    },
    async getPublicKeys({ tenantId, algorithms: asked, declared }) {
      const names = asked.filter(isSigningAlgorithm);
      const ring = await rings.of(tenantId);
      const algorithms = await ring.look(names, declared.filter(isSigningAlgorithm));
      const keys = ring.published().filter(({ algorithm }) => names.includes(algorithm));
      return { tenantId, algorithms, keys: keys.map(publicKey) };
    },
  };
}

/** A newer `token` may ask for an algorithm that this process does not know; a token for it is better than none. */
function knownOrDefault(algorithm: string): SigningAlgorithmName {
  return isSigningAlgorithm(algorithm) ? algorithm : defaultSigningAlgorithm;
}

function publicKey({ kid, state, algorithm, publicMembers }: StoredKey) {
  return { kid, state: states[state], algorithm, members: publicMembers };
}

function signingInput(
  { type, payload, atHashOf, algorithm }: SigningItem,
  index: number,
  keyOf: (algorithm: string) => SigningKey,
): SigningInput {
  const kind = kinds[type];
  if (kind === undefined || payload.length === 0) {
    throw new ConnectError('Every item needs a token type and a payload.', Code.InvalidArgument);
  }
  const key = keyOf(algorithm);
  if (atHashOf === undefined) return { key, kind, payload };
  if (atHashOf >= index) {
    throw new ConnectError('An item can only contain the hash of an earlier item.', Code.InvalidArgument);
  }
  return { key, kind, claims: claimsOf(payload), atHashOf };
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
