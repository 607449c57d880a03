import { genericGrantRequest } from 'openid-client';
import { CommandError, type Terminal } from '../terminal.ts';
import { requestError, RequestError, type Configuration } from './oauth-client.ts';

export interface Pace {
  /** Seconds until the request ends. */
  readonly expiresIn: number;
  /** Seconds between two polls; the default is that of RFC 8628 §3.2 and CIBA Core §7.3. */
  readonly interval?: number | undefined;
}

/** A token response. */
export type Tokens = Readonly<Record<string, unknown>>;

/** Each `slow_down` adds this to every later interval (RFC 8628 §3.5, CIBA Core §11). */
const slowDownSeconds = 5;
const defaultIntervalSeconds = 5;

/**
 * Polls until the person has decided: waits for the interval before every poll, five seconds longer after each
 * `slow_down`, and twice as long each time the server does not answer (RFC 8628 §3.5), where the loop of openid-client
 * gives up. Resolves with the token response. Throws CommandError if the request is denied, expired or refused.
 */
export async function pollForTokens(
  config: Configuration,
  grantType: string,
  parameters: Record<string, string>,
  pace: Pace,
  { sleep, now, say }: Pick<Terminal, 'sleep' | 'now' | 'say'>,
): Promise<Tokens> {
  const end = now() + pace.expiresIn * 1000;
  let interval = pace.interval ?? defaultIntervalSeconds;
  let wait = interval;
  for (;;) {
    if (now() + wait * 1000 >= end) throw new CommandError('The request has expired before anybody decided.');
    await sleep(wait * 1000);
    const answer = await genericGrantRequest(config, grantType, parameters).catch(requestError);
    if (!(answer instanceof RequestError)) return { ...answer, token_type: tokenTypeOf(answer) };
    if (answer.status === undefined || answer.status === 503 || answer.status === 429) {
      wait = Math.max(wait * 2, answer.retryAfter ?? 0);
      say(`No answer. Trying again in ${wait} s.\n`);
      continue;
    }
    if (answer.code === 'slow_down') interval += slowDownSeconds;
    else if (answer.code !== 'authorization_pending') throw answer;
    if (answer.code === 'slow_down') say(`Too fast. Polling every ${interval} s from now on.\n`);
    wait = interval;
  }
}

/** As RFC 6750 spells it; openid-client gives it in lower case. */
function tokenTypeOf({ token_type: type }: { readonly token_type: string }): string {
  return type === 'bearer' ? 'Bearer' : type;
}
