import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpClient, NoAnswerError } from '@tessera/test-client';
import { activeClients, type Population } from '../declared-state.ts';

export interface FloodRequest {
  readonly baseUrl: string;
  readonly seed: string;
  readonly population: Population;
  readonly seconds: number;
  /** Each sends its next request after a response. */
  readonly connections: number;
  /**
   * `starting`: each is an application that wants one token, and pauses for as long as `Retry-After` of a refusal says.
   * `pressing`: each asks for all applications in turn, and never pauses.
   */
  readonly clients: 'starting' | 'pressing';
}

export interface FloodResult {
  /** Tokens of each second. */
  readonly good: readonly number[];
  /** Answers by status; without an answer, by the code of the error. */
  readonly answers: Readonly<Record<string, number>>;
  /** 503 and 429 with Retry-After. */
  readonly refused: number;
  /** No response within the patience of the client. */
  readonly timeOuts: number;
  /** Broken connections. */
  readonly broken: number;
  /** Statuses that no overloaded system should answer with, and refusals without Retry-After. */
  readonly wrong: number;
  /** Milliseconds. */
  readonly goodP50: number;
  readonly goodP99: number;
  readonly refusedP99: number;
  /** Seconds. */
  readonly longestRetryAfter: number;
  readonly lastTokenAfter: number;
}

/** Time-outs of a client. */
const patienceMs = { starting: 30_000, pressing: 5_000 };

const record = (times: RecordableHistogram, ms: number): void => times.record(Math.max(1, Math.round(ms)));
const percentile = (times: RecordableHistogram, share: number): number =>
  times.count === 0 ? 0 : times.percentile(share);

/** Many clients that ask for tokens by client credentials, and what they were answered. */
export async function flood(wanted: FloodRequest): Promise<FloodResult> {
  const { baseUrl, seconds, connections, clients } = wanted;
  const isStarting = clients === 'starting';
  const bodies = activeClients(wanted).map(({ clientId, clientSecret }) => ({
    grantType: 'client_credentials',
    clientId,
    clientSecret,
    scope: 'orders.read',
  }));
  const http = new HttpClient(() => baseUrl, {
    connections,
    timeoutMs: patienceMs[clients],
    remembers: false,
  });
  const good = Array.from({ length: seconds }, () => 0);
  const [goodTimes, refusedTimes] = [createHistogram(), createHistogram()];
  const answers: Record<string, number> = {};
  const counts = { timeOuts: 0, broken: 0, wrong: 0 };
  let [next, longestRetryAfter, lastTokenAfter] = [0, 0, 0];
  const start = performance.now();
  const end = start + seconds * 1000;
  const note = (answer: string): void => void (answers[answer] = (answers[answer] ?? 0) + 1);

  /** Resolves with how long to pause before the next request, or undefined when the client has what it wanted. */
  const ask = async (body: object | undefined): Promise<number | undefined> => {
    const sentAt = performance.now();
    const answer = await http.ask('POST', '/token', { json: body });
    const now = performance.now();
    note(String(answer.status));
    const retryAfter = answer.header('retry-after');
    if (answer.status === 200) {
      record(goodTimes, now - sentAt);
      lastTokenAfter = (now - start) / 1000;
      const second = Math.floor(lastTokenAfter);
      if (second < seconds) good[second] = (good[second] ?? 0) + 1;
      return isStarting ? undefined : 0;
    }
    if ((answer.status !== 429 && answer.status !== 503) || retryAfter === undefined) {
      counts.wrong += 1;
      return 0;
    }
    record(refusedTimes, now - sentAt);
    longestRetryAfter = Math.max(longestRetryAfter, Number(retryAfter));
    return isStarting ? Number(retryAfter) * 1000 : 0;
  };
  const bodyFor = (index: number) => bodies[(isStarting ? index : (next += 1)) % bodies.length];
  const client = async (index: number): Promise<void> => {
    while (performance.now() < end) {
      try {
        const pause = await ask(bodyFor(index));
        if (pause === undefined) return;
        if (pause > 0) await sleep(Math.min(pause, Math.max(0, end - performance.now())));
      } catch (error) {
        counts[error instanceof NoAnswerError ? 'timeOuts' : 'broken'] += 1;
        note(error instanceof NoAnswerError ? 'no answer' : String((error as NodeJS.ErrnoException).code));
      }
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, index) => client(index)));
  http.close();
  return {
    good,
    answers,
    refused: refusedTimes.count,
    ...counts,
    goodP50: percentile(goodTimes, 50),
    goodP99: percentile(goodTimes, 99),
    refusedP99: percentile(refusedTimes, 99),
    longestRetryAfter,
    lastTokenAfter,
  };
}
