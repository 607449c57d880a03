import { CommandError, type Terminal } from '../terminal.ts';
import { refusal, type Answer } from './client.ts';

export interface Pace {
  /** Seconds until the request ends. */
  readonly expiresIn: number;
  /** Seconds between two polls. */
  readonly interval: number;
}

/** Each `slow_down` adds this to every later interval (RFC 8628 §3.5, CIBA Core §11). */
const slowDownSeconds = 5;
/** Default interval (RFC 8628 §3.2, CIBA Core §7.3). */
const defaultIntervalSeconds = 5;

/**
 * Polls until the person has decided: waits for the interval before every poll, five seconds longer after each `slow_down`, and
 * twice as long each time the server does not answer (RFC 8628 §3.5). Resolves with the token response. Throws CommandError if the
 * request is denied, expired or refused.
 */
export async function pollForTokens(
  poll: () => Promise<Answer | undefined>,
  pace: Pace,
  { sleep, now, say }: Pick<Terminal, 'sleep' | 'now' | 'say'>,
): Promise<Answer['body']> {
  const end = now() + pace.expiresIn * 1000;
  let interval = pace.interval;
  let wait = interval;
  for (;;) {
    if (now() + wait * 1000 >= end) throw new CommandError('The request has expired before anybody decided.');
    await sleep(wait * 1000);
    const answer = await poll();
    if (answer?.status === 200) return answer.body;
    if (answer === undefined || answer.status === 503 || answer.status === 429) {
      wait = Math.max(wait * 2, answer?.retryAfter ?? 0);
      say(`No answer. Trying again in ${wait} s.\n`);
      continue;
    }
    const { error } = answer.body;
    if (error === 'slow_down') interval += slowDownSeconds;
    else if (error !== 'authorization_pending') throw new CommandError(refusal(answer));
    if (error === 'slow_down') say(`Too fast. Polling every ${interval} s from now on.\n`);
    wait = interval;
  }
}

/** The interval and lifetime from the response that started the request. */
export function paceOf(body: Answer['body']): Pace {
  const { expires_in: expiresIn, interval } = body;
  if (typeof expiresIn !== 'number') throw new CommandError('The answer does not say when the request ends.');
  return { expiresIn, interval: typeof interval === 'number' ? interval : defaultIntervalSeconds };
}
