import { argon2Sync, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const pauseMs = { usual: 60, withHash: 360 };
const signaturesPerBurst = 8;

/** Microseconds of processor time. */
export interface YardstickReport {
  readonly signature: number;
  /** 0 if not requested. */
  readonly passwordHash: number;
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const input = randomBytes(600);

/** Work, and what it cost so far. */
class Timed {
  #count = 0;
  #micros = 0;
  readonly #work: () => void;

  constructor(work: () => void) {
    this.#work = work;
  }

  run(count: number): void {
    const before = process.cpuUsage();
    for (let index = 0; index < count; index += 1) this.#work();
    const { user, system } = process.cpuUsage(before);
    this.#count += count;
    this.#micros += user + system;
  }

  get average(): number {
    return this.#count === 0 ? 0 : this.#micros / this.#count;
  }
}

const signing = () => new Timed(() => sign('sha256', input, privateKey));
const hashing = () =>
  new Timed(() => {
    const nonce = randomBytes(16);
    argon2Sync('argon2id', {
      message: 'a password',
      nonce,
      memory: 19_456,
      passes: 2,
      parallelism: 1,
      tagLength: 32,
    });
  });

// The first signatures with a key cost more.
signing().run(signaturesPerBurst);

/**
 * What the physical work costs in these seconds on this machine: one RS256 signature (RSA-2048) and one argon2id hash, in short
 * bursts while `work`, which another process does, so that both suffer from the same neighbours.
 */
export async function withYardstick<T>(
  hasHash: boolean,
  work: () => Promise<T>,
): Promise<[T, YardstickReport]> {
  const [signatures, hashes] = [signing(), hashing()];
  const burst = (): void => {
    signatures.run(signaturesPerBurst);
    if (hasHash) hashes.run(1);
  };
  const timer = setInterval(burst, hasHash ? pauseMs.withHash : pauseMs.usual);
  try {
    const result = await work();
    return [result, { signature: signatures.average, passwordHash: hashes.average }];
  } finally {
    clearInterval(timer);
  }
}
