import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BurstRequest, BurstResult } from './overload/burst-clients.ts';
import type { System } from './systems.ts';

const entry = fileURLToPath(new URL('overload/burst-clients.ts', import.meta.url));

/** The longest `Retry-After` that counts as short, in seconds. */
const shortRetrySeconds = 5;

/**
 * Every active application asks for its first token at once, from one address, right after a start; one that is refused
 * tries again after its `Retry-After`.
 */
export async function burst(system: System): Promise<BurstResult> {
  const clients = fork(entry, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const { baseUrl, seed, population } = system.target;
  const wanted: BurstRequest = { baseUrl, seed, population };
  try {
    clients.send(wanted);
    const [result] = (await once(clients, 'message')) as [BurstResult];
    return result;
  } finally {
    clients.disconnect();
  }
}

/** Whether there was an answer besides a token and a 503 with a short `Retry-After`. */
export function isWrong({ answers, longestRetrySeconds, served, applications }: BurstResult): boolean {
  const others = Object.keys(answers).filter((status) => status !== '200' && status !== '503');
  return others.length > 0 || longestRetrySeconds > shortRetrySeconds || served < applications;
}

export function describeBurst(name: string, result: BurstResult): string {
  const { applications, first, answers, longestRetrySeconds, served, seconds } = result;
  const counts = (of: Readonly<Record<string, number>>) =>
    Object.entries(of)
      .map(([status, count]) => `${count} × ${status}`)
      .join(', ');
  return (
    `${name}: first tokens of ${applications} applications at once: ${counts(first)}; with the retries ` +
    `${counts(answers)}, Retry-After at most ${longestRetrySeconds} s; ${served} served after ${seconds.toFixed(1)} s\n`
  );
}
