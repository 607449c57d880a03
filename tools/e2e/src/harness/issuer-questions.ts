import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Ask } from '@tessera/test-client';
import { secrets } from './declared-state.ts';

export interface Question {
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

export function questionsAt(asked: AskedIssuer): Omit<Question, 'requireRunning'>[] {
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

export async function wrongAnswers(questions: readonly Question[], start: number): Promise<string[]> {
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
export async function firstAnswers(question: Question, count: number): Promise<string[]> {
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
