import { argon2Sync, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const input = randomBytes(600);
const hashing = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };

/** Work in bursts of some times, with pauses. */
const yardsticks = {
  signature: { work: () => void sign('sha256', input, privateKey), times: 8, pauseMs: 60 },
  'password hash': {
    work: () => void argon2Sync('argon2id', { message: 'a password', nonce: randomBytes(16), ...hashing }),
    times: 1,
    pauseMs: 360,
  },
};

/** One RS256 signature (RSA-2048), or one argon2id hash. */
export type Yardstick = keyof typeof yardsticks;

/**
 * The microseconds of processor time that the physical work costs in these seconds on this machine, in short bursts
 * while `work`, which another process does, so that both suffer from the same neighbours.
 */
export async function withYardstick<T>(unit: Yardstick, work: () => Promise<T>): Promise<[T, number]> {
  const { work: once, times, pauseMs } = yardsticks[unit];
  let [count, micros] = [0, 0];
  const burst = (): void => {
    const before = process.cpuUsage();
    for (let index = 0; index < times; index += 1) once();
    const { user, system } = process.cpuUsage(before);
    count += times;
    micros += user + system;
  };
  const timer = setInterval(burst, pauseMs);
  try {
    const result = await work();
    if (count === 0) burst();
    return [result, micros / count];
  } finally {
    clearInterval(timer);
  }
}

// The first signatures with a key cost more.
for (let index = 0; index < 8; index += 1) yardsticks.signature.work();
