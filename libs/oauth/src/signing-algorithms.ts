/** Of a key pair (RFC 7518 §6.1); none is symmetric. */
export type KeyType = 'RSA' | 'EC';

/** An algorithm that signs tokens (RFC 7518 §3.1). `jose` generates and imports its keys by its name. */
interface SigningAlgorithm {
  readonly kty: KeyType;
  /** Members of a public key besides `kty`, in the order in which they are published. None is private. */
  readonly publicMembers: readonly string[];
  /** What a new key needs besides the name. */
  readonly generation: { readonly modulusLength?: number };
  readonly digest: 'sha256';
  /** Options of `sign` of `node:crypto`. */
  readonly signing: { readonly dsaEncoding?: 'ieee-p1363' };
}

/**
 * How this server signs, and all that its verifiers accept: what generates, publishes, signs and verifies reads this
 * table.
 */
export const signingAlgorithms = {
  RS256: {
    kty: 'RSA',
    publicMembers: ['n', 'e'],
    generation: { modulusLength: 2048 },
    digest: 'sha256',
    signing: {},
  },
  ES256: {
    kty: 'EC',
    publicMembers: ['crv', 'x', 'y'],
    generation: {},
    digest: 'sha256',
    // JSON Web Signatures have no DER (RFC 7518 §3.4).
    signing: { dsaEncoding: 'ieee-p1363' },
  },
} as const satisfies Readonly<Record<string, SigningAlgorithm>>;

export type SigningAlgorithmName = keyof typeof signingAlgorithms;

export const signingAlgorithmNames = Object.keys(signingAlgorithms) as readonly SigningAlgorithmName[];

export function isSigningAlgorithm(name: string): name is SigningAlgorithmName {
  return Object.hasOwn(signingAlgorithms, name);
}

/** The contract's: of ID tokens, logout tokens, and access tokens without another. */
export const defaultSigningAlgorithm = 'RS256' satisfies SigningAlgorithmName;
