import { describe, expect, it } from 'vitest';
import { eventually } from '@tessera/test-kit/provision';
import {
  firstAnswers,
  questionsAt,
  wrongAnswers,
  type AskedIssuer,
  type Question,
} from '../../harness/issuer-questions.ts';
import type { SetUp, System } from '../../harness/set-up.ts';

/** Starts per test; more of them find what only some starts show. */
const starts = Number(process.env['TESSERA_TEST_STARTS'] ?? 1);

/** Answers of each question that must all be refusals while the directory is unavailable. */
const refusals = 5;

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
