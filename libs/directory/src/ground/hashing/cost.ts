import { iterationsOf, type PasswordHash } from './phc.ts';

/** What comparing a password with a hash takes. */
export interface HashCost {
  /** KiB. */
  readonly memory: number;
  /** Whether it takes more memory or time than a hash of ours. */
  readonly isDear: boolean;
}

/** The parameters of new hashes: 19 MiB, two passes, one lane, the minimum that OWASP recommends for argon2id. */
export const ownParameters = { algorithm: 'argon2id', memory: 19_456, passes: 2, parallelism: 1 } as const;

/** Of making or comparing a hash of ours. */
export const ownCost: HashCost = { memory: ownParameters.memory, isDear: false };

/** KiB that the dearest hash within the bounds takes: scrypt with N × r of 2^20. */
export const mostMemory = 131_072;

/** About the heap and the code of a thread. */
const threadMemory = 32_768;

/** What takes about as long as a hash of ours. */
const asOurs = {
  argon2: ownParameters.memory * ownParameters.passes,
  pbkdf2: 100_000,
  scrypt: 2 ** 17,
};

/** What comparing with this hash takes. */
export function costOf(hash: PasswordHash): HashCost {
  if (hash.algorithm === 'bcrypt') return { memory: threadMemory, isDear: true };
  if (hash.algorithm === 'scrypt') {
    const { cost, blockSize, parallelization } = hash;
    // RFC 7914 §6: 128 × N × r bytes.
    return costing((cost * blockSize) / 8, (cost * blockSize * parallelization) / asOurs.scrypt);
  }
  if ('iterations' in hash) return costing(0, iterationsOf(hash) / asOurs.pbkdf2);
  return costing(hash.memory, (hash.memory * hash.passes) / asOurs.argon2);
}

function costing(memory: number, hashesOfOurs: number): HashCost {
  return { memory, isDear: hashesOfOurs > 1 || memory > ownParameters.memory };
}
