import { expect, it } from 'vitest';
import { patientFetch } from './patient-fetch.ts';

const url = 'http://gateway/readyz';

/** A terminal whose clock moves by each pause alone, and a server that answers with these in turn. */
function terminal(...answers: (Response | Error)[]) {
  let time = 0;
  const said: string[] = [];
  const attempts = { count: 0 };
  const fetching = async () => {
    attempts.count += 1;
    const next = answers.length > 1 ? answers.shift() : answers[0];
    if (next instanceof Response) return next;
    if (next !== undefined) throw next;
    return new Response();
  };
  return {
    said,
    attempts,
    terminal: {
      environment: {},
      out: () => undefined,
      say: (text: string) => void said.push(text),
      input: async () => '',
      fetch: fetching,
      sleep: async (milliseconds: number) => void (time += milliseconds),
      now: () => time,
    },
  };
}

const failed = (cause: Error) => new TypeError('fetch failed', { cause });
const refused = failed(new AggregateError([new Error('first'), new Error('connect ECONNREFUSED ::1:8080')]));

it('asks once without a time to wait, and says why there was no answer', async () => {
  const { terminal: at, attempts, said } = terminal(refused);
  await expect(patientFetch(at, 0)(url)).rejects.toThrow(
    `${url} does not respond: connect ECONNREFUSED ::1:8080.`,
  );
  expect([attempts.count, said]).toEqual([1, []]);
});

it('asks every second until the time is over, says each new cause once and a lasting one every ten seconds', async () => {
  const reset = failed(new Error('read ECONNRESET'));
  const { terminal: at, attempts, said } = terminal(reset, refused);
  await expect(patientFetch(at, 25_000)(url)).rejects.toThrow('connect ECONNREFUSED ::1:8080.');
  expect(attempts.count).toBe(26);
  expect(said).toEqual([
    `wait  ${url} does not respond: read ECONNRESET\n`,
    ...Array(3).fill(`wait  ${url} does not respond: connect ECONNREFUSED ::1:8080\n`),
  ]);
});

it('answers with what a server says that is ready, and with the last refusal of one that is not', async () => {
  const ready = terminal(new Response(null, { status: 502 }), new Response('yes'));
  expect((await patientFetch(ready.terminal, 5_000)(url)).status).toBe(200);
  const never = terminal(new Response(null, { status: 503 }));
  expect((await patientFetch(never.terminal, 5_000)(url)).status).toBe(503);
  expect(never.attempts.count).toBe(6);
  const wrong = terminal(new Response(null, { status: 404 }));
  expect((await patientFetch(wrong.terminal, 5_000)(url)).status).toBe(404);
  expect([wrong.attempts.count, wrong.said]).toEqual([1, []]);
});
