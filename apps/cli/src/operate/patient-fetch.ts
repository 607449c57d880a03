import { CommandError, type Terminal } from '../terminal.ts';

/** How long one attempt may take: less while there is time for another one. */
const timeoutMs = 10_000;
const attemptMs = 5_000;
const pauseMs = 1_000;
/** A person who waits is told again that often. */
const toldEveryMs = 10_000;

/** What another attempt may change: nothing listens there yet, or a process is not ready. */
const startingUp: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * A fetch that repeats a request while the server does not respond or is not ready, until `waitMs` are over: the rules
 * of a network reach a new pod some seconds after it. It says what it waits for, and throws CommandError with the last
 * cause.
 */
export function patientFetch({ fetch, say, sleep, now }: Terminal, waitMs: number): Terminal['fetch'] {
  const until = now() + waitMs;
  let told = { why: '', at: -Infinity };
  const tell = (why: string): void => {
    if (why === told.why && now() - told.at < toldEveryMs) return;
    told = { why, at: now() };
    say(`wait  ${why}\n`);
  };
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    for (;;) {
      const isLast = now() >= until;
      const limit = AbortSignal.timeout(isLast ? timeoutMs : attemptMs);
      const signal = init?.signal ? AbortSignal.any([init.signal, limit]) : limit;
      const answer = await fetch(input, { ...init, signal }).catch((error: unknown) => {
        if (isLast) throw new CommandError(`${url} does not respond: ${whyNot(error)}.`);
        return `${url} does not respond: ${whyNot(error)}`;
      });
      if (typeof answer !== 'string' && (isLast || !startingUp.has(answer.status))) return answer;
      tell(typeof answer === 'string' ? answer : `${url} answered with status ${answer.status}`);
      await sleep(Math.max(1, Math.min(pauseMs, until - now())));
    }
  };
}

/** The innermost cause, as `fetch failed` says nothing. */
function whyNot(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return 'no answer in time';
  if (error instanceof AggregateError && error.errors.length > 0) return whyNot(error.errors.at(-1));
  return error.cause === undefined ? error.message.replace(/\.$/, '') : whyNot(error.cause);
}
