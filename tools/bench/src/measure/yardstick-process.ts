/**
 * What the physical work costs in this minute on this machine: one RS256 signature (RSA-2048) and one argon2id hash,
 * in short bursts during the load, so that both suffer from the same neighbours.
 */
import { argon2Sync, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const pauseMs = 60;
const signaturesPerBurst = 8;

export interface YardstickReport {
  /** Microseconds of processor time. */
  readonly signature: number;
  /** The same; 0 if not requested. */
  readonly passwordHash: number;
}

export type YardstickMessage =
  { readonly start: { readonly passwordHash: boolean } } | { readonly stop: true };

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const input = randomBytes(600);

interface Sum {
  count: number;
  micros: number;
}

let timer: NodeJS.Timeout | undefined;
let signatures: Sum = { count: 0, micros: 0 };
let hashes: Sum = { count: 0, micros: 0 };

function timed(sum: Sum, count: number, work: () => void): Sum {
  const before = process.cpuUsage();
  for (let index = 0; index < count; index += 1) work();
  const { user, system } = process.cpuUsage(before);
  return { count: sum.count + count, micros: sum.micros + user + system };
}

function burst(withHash: boolean): void {
  signatures = timed(signatures, signaturesPerBurst, () => sign('sha256', input, privateKey));
  if (withHash) {
    const nonce = randomBytes(16);
    const work = { message: 'a password', nonce, memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
    hashes = timed(hashes, 1, () => argon2Sync('argon2id', work));
  }
}

const average = ({ count, micros }: Sum): number => (count === 0 ? 0 : micros / count);

process.on('message', (message: YardstickMessage) => {
  if ('start' in message) {
    signatures = { count: 0, micros: 0 };
    hashes = { count: 0, micros: 0 };
    const { passwordHash } = message.start;
    timer = setInterval(() => burst(passwordHash), passwordHash ? pauseMs * 6 : pauseMs);
    return;
  }
  clearInterval(timer);
  const report: YardstickReport = { signature: average(signatures), passwordHash: average(hashes) };
  process.send?.(report);
});
process.on('disconnect', () => process.exit(0));
// The first signatures with a key cost more.
burst(true);
process.send?.('ready');
