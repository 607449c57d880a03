import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { secrets } from '../harness/declared-state.ts';
import { eventually } from '@tessera/test-kit/provision';
import type { Answer, Ask } from '@tessera/test-client';
import type { SetUp, System } from '../harness/set-up.ts';

/** Starts per test; more of them find what only some starts show. */
const starts = Number(process.env['TESSERA_TEST_STARTS'] ?? 1);

/** Answers of each question that must all be refusals while the directory is unavailable. */
const refusals = 5;

interface Question {
  readonly name: string;
  ask(): Promise<Answer>;
  /** Whether a complete answer is that of this issuer. */
  isRight(answer: Answer): boolean;
  /** Statuses of a failure, besides 503. */
  readonly mayFailWith: readonly number[];
  /** Throws if a process that was started is not running. */
  requireRunning(): void;
}

/** What clients of one issuer ask, and how they tell its answers from those of another. */
export interface AskedIssuer {
  readonly issuer: string;
  readonly clientId: string;
  readonly audience: string;
  readonly accessToken: string;
  readonly keyIds: readonly string[];
  ask(method: string, path: string, options?: Ask): Promise<Answer>;
}

/** Asks at issuers of tenants from the first millisecond in which a restarted process accepts connections. */
export function coldStartTests(
  system: () => System,
  topology: SetUp['topology'],
  asked: () => Promise<readonly AskedIssuer[]>,
): void {
  // Long: what counts is that each start gets on, and a busy machine takes its time.
  const timeout = starts * 600_000;
  const started = new Set<string>();

  describe('at a cold start', () => {
    /** With new tokens for each start, as many starts may take longer than a token lives. */
    async function newQuestions(): Promise<Question[]> {
      return (await asked()).flatMap(questionsAt).map((question) => ({ ...question, requireRunning }));
    }

    it(
      'are never mistaken for another issuer in the first millisecond after the port opens',
      async () => {
        const wrong: string[] = [];
        for (let round = 1; round <= starts; round += 1) {
          const name = topology === 'compact' ? 'standalone' : 'gateway';
          const questions = await newQuestions();
          await stop(name);
          start(name);
          wrong.push(...(await wrongAnswers(questions, round)));
        }
        expect(wrong).toEqual([]);
      },
      timeout,
    );

    if (topology === 'compact') return;
    it(
      'are not served without the list of issuers: the gateway is live, not ready, and answers 503 with Retry-After',
      async () => {
        const wrong: string[] = [];
        for (let round = 1; round <= starts; round += 1) {
          const questions = await newQuestions();
          for (const name of ['gateway', 'token', 'directory']) await stop(name);
          for (const name of ['token', 'gateway']) start(name);
          try {
            const answers = await Promise.all(questions.map((question) => firstAnswers(question, refusals)));
            const others = answers.flat().filter((answer) => !answer.endsWith(' 503'));
            wrong.push(...others.map((answer) => `start ${round}: ${answer}`));
            expect([await managementStatus('livez'), await managementStatus('readyz')]).toEqual([200, 503]);
          } finally {
            start('directory');
          }
          wrong.push(...(await wrongAnswers(questions, round)));
          await eventually('the gateway is ready', async () => (await managementStatus('readyz')) === 200);
        }
        expect(wrong).toEqual([]);
      },
      timeout,
    );
  });

  function requireRunning(): void {
    for (const name of started) {
      const { running, output } = processOf(name);
      if (!running) throw new Error(`${name} ended:\n${output.slice(-2000)}`);
    }
  }

  function start(name: string): void {
    started.add(name);
    processOf(name).start(system().environmentOf(name));
  }

  async function stop(name: string): Promise<void> {
    started.delete(name);
    await processOf(name).stop();
  }

  function processOf(name: string) {
    const found = system().processes.find((process) => process.name === name);
    if (found === undefined) throw new Error(`there is no process ${name}`);
    return found;
  }

  async function managementStatus(path: string): Promise<number> {
    const port = system().environmentOf('gateway')['TESSERA_MANAGEMENT_PORT'];
    return (await fetch(`http://127.0.0.1:${port}/${path}`)).status;
  }
}

function questionsAt(asked: AskedIssuer): Omit<Question, 'requireRunning'>[] {
  const { issuer, clientId, audience, accessToken, keyIds, ask } = asked;
  const isMetadata = (answer: Answer) => answer.json()['issuer'] === issuer;
  const metadata = (name: string) => ({
    name: `${issuer} ${name}`,
    ask: () => ask('GET', `/.well-known/${name}`),
    isRight: isMetadata,
    // The contract's answer while the keys of the issuer cannot be fetched.
    mayFailWith: name === 'openid-configuration' ? [500] : [],
  });
  return [
    metadata('openid-configuration'),
    metadata('oauth-authorization-server'),
    {
      name: `${issuer} keys`,
      ask: () => ask('GET', '/.well-known/jwks.json'),
      isRight: (answer) => {
        const { keys } = answer.json() as { keys: { kid: string }[] };
        return keys.length > 0 && keys.every(({ kid }) => keyIds.includes(kid));
      },
      mayFailWith: [],
    },
    {
      name: `${issuer} introspection`,
      ask: () => ask('POST', '/introspect', { json: { token: accessToken } }),
      isRight: (answer) => (answer.json()['data'] as { active?: boolean }).active === true,
      mayFailWith: [],
    },
    {
      name: `${issuer} forward authentication`,
      ask: () =>
        ask('GET', `/auth/verify?${new URLSearchParams({ audience }).toString()}`, {
          headers: { authorization: `Bearer ${accessToken}` },
        }),
      isRight: () => true,
      mayFailWith: [],
    },
    {
      name: `${issuer} token`,
      ask: () =>
        ask('POST', '/token', {
          form: { grant_type: 'client_credentials' },
          basic: [clientId, secrets.own],
        }),
      isRight: () => true,
      mayFailWith: [],
    },
  ];
}

async function wrongAnswers(questions: readonly Question[], start: number): Promise<string[]> {
  const wrong = await Promise.all(questions.map(untilRight));
  return wrong.flat().map((answer) => `start ${start}: ${answer}`);
}

/** Asks until the answer is right; resolves with the answers that were neither right nor a refusal for the moment. */
async function untilRight(question: Question): Promise<string[]> {
  for (;;) {
    const answer = await answerOf(question);
    if (answer.status === 200 && question.isRight(answer)) return [];
    // A wrong answer is a failure, which need not become right.
    if (!isRefusal(answer) && !question.mayFailWith.includes(answer.status)) {
      return [`${question.name} ${answer.status}`];
    }
    await sleep(50);
  }
}

/** The first answers to a question as its name and their status; a refusal without `Retry-After` is marked. */
async function firstAnswers(question: Question, count: number): Promise<string[]> {
  const answers: string[] = [];
  while (answers.length < count) {
    const answer = await answerOf(question);
    const isComplete = answer.status !== 503 || isRefusal(answer);
    answers.push(`${question.name} ${answer.status}${isComplete ? '' : ' without Retry-After'}`);
  }
  return answers;
}

function isRefusal(answer: Answer): boolean {
  return answer.status === 503 && Number(answer.header('retry-after')) > 0;
}

/** The next answer; connections are refused until the port opens. Throws if a process ended. */
async function answerOf({ ask, requireRunning }: Question): Promise<Answer> {
  for (;;) {
    try {
      return await ask();
    } catch {
      requireRunning();
      await sleep(1);
    }
  }
}
