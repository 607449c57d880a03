import {
  isSigningAlgorithm,
  signingAlgorithms,
  type KeyType,
  type SigningAlgorithmName,
} from './signing-algorithms.ts';

/** A public signing key of this server (RFC 7517 §4). */
export interface PublicJwk {
  readonly kty: KeyType;
  readonly use: 'sig';
  readonly alg: SigningAlgorithmName;
  readonly kid: string;
  /** Those of the key type. */
  readonly [member: string]: string;
}

/** The members of a public key for `algorithm`, and none that is not in the table. Throws if one is missing. */
export function publicMembersOf(
  algorithm: SigningAlgorithmName,
  key: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const entries = signingAlgorithms[algorithm].publicMembers.map((name) => {
    const value = key[name];
    if (typeof value !== 'string' || value === '') throw new Error(`a key for ${algorithm} has no ${name}`);
    return [name, value] as const;
  });
  return Object.fromEntries(entries);
}

/** The key as it is published: every member a verifier needs and no other. Throws if one is missing. */
export function publicJwk(
  algorithm: SigningAlgorithmName,
  kid: string,
  key: Readonly<Record<string, unknown>>,
): PublicJwk {
  const { kty } = signingAlgorithms[algorithm];
  return { kty, use: 'sig', alg: algorithm, kid, ...publicMembersOf(algorithm, key) };
}

/** A public key as `keys` sends it; the names are those of the message. */
export interface SentPublicKey {
  readonly kid: string;
  readonly algorithm: string;
  readonly members: Readonly<Record<string, string>>;
}

/** As `publicJwk`, of a key that `keys` sent. Throws also if its algorithm is unknown. */
export function sentJwk({ kid, algorithm, members }: SentPublicKey): PublicJwk {
  if (!isSigningAlgorithm(algorithm))
    throw new Error(`keys sent a key for another algorithm: ${algorithm || 'none'}`);
  return publicJwk(algorithm, kid, members);
}
