import { argon2, pbkdf2, scrypt, timingSafeEqual, type ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { normalizeStart } from '@tessera/kit';
import { longestPassword, type Argon2Hash, type BcryptHash, type PasswordHash } from './phc.ts';

const deriveArgon2 = promisify(argon2);
const derivePbkdf2 = promisify(pbkdf2);
const deriveScrypt = promisify<Buffer, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** Whether a password has this hash. Every algorithm computes on a thread of its own. */
export async function belongs(password: string, hash: PasswordHash): Promise<boolean> {
  if (hash.algorithm === 'bcrypt') return belongsToBcrypt(messageOf(password), hash);
  return timingSafeEqual(await tagOf(password, hash), hash.tag);
}

/** The tag of a password under the parameters of a hash. */
export async function argon2Tag(
  password: string,
  { algorithm, memory, passes, parallelism, salt }: Omit<Argon2Hash, 'tag'>,
  tagLength: number,
): Promise<Buffer> {
  const message = messageOf(password);
  return deriveArgon2(algorithm, { message, nonce: salt, memory, passes, parallelism, tagLength });
}

async function tagOf(password: string, hash: Exclude<PasswordHash, BcryptHash>): Promise<Buffer> {
  const { algorithm, salt, tag } = hash;
  if (algorithm === 'scrypt') {
    const { cost, blockSize, parallelization } = hash;
    // Twice what RFC 7914 §6 needs: the bounds of the hash are what limits it.
    const maxmem = 256 * blockSize * (cost + parallelization);
    return deriveScrypt(messageOf(password), salt, tag.length, { cost, blockSize, parallelization, maxmem });
  }
  if ('iterations' in hash) {
    const digest = algorithm.slice('pbkdf2-'.length);
    return derivePbkdf2(messageOf(password), salt, hash.iterations, tag.length, digest);
  }
  return argon2Tag(password, hash, tag.length);
}

/** Node has no bcrypt; the library computes it in JavaScript, in a thread that ends with it. */
async function belongsToBcrypt(password: Buffer, { text }: BcryptHash): Promise<boolean> {
  const worker = new Worker(new URL('./bcrypt-thread.ts', import.meta.url), {
    workerData: { password: password.toString(), text },
    execArgv: [],
  });
  try {
    return await new Promise<boolean>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
  } finally {
    await worker.terminate();
  }
}

/** Composed Unicode (RFC 8265 §4.2), because keyboards encode the same letters differently. */
function messageOf(password: string): Buffer {
  return Buffer.from(normalizeStart(password, 'NFC', longestPassword));
}
