import type { Answer, Person } from '@tessera/test-client';
import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { people } from '../../harness/declared-state.ts';
import { authorizeQuery } from '../../harness/flows.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';
import { median, standardDeviationsApart } from './same-distribution.ts';

/** Of each kind at each entry. */
const tries = Number(process.env['TESSERA_TEST_ACCOUNTS'] ?? '30');
/** Chance alone exceeds it once in two million times. */
const mostApart = 5;

const known = people.ada.username;
const unknown = 'eva';
const ample = '1000000';

/** Shown with `TESSERA_TEST_ACCOUNTS`. */
const report = (line: string) =>
  process.env['TESSERA_TEST_ACCOUNTS'] !== undefined && process.stderr.write(`${line}\n`);

/** Where somebody could try whether there is an account. */
const entries: Readonly<Record<string, (person: Person, identifier: string) => Promise<Answer>>> = {
  'a sign-in': async (person, identifier) =>
    person.submit('/approvals?tenant=acme', { identifier, password: 'a wrong password' }),
  'a sign-in for an application': async (person, identifier) => {
    const started = await person.get(`/authorize?${authorizeQuery()}`);
    return person.submit(started.header('location') ?? '', { identifier, password: 'a wrong password' });
  },
  'the passkeys of a hinted person': async (person, identifier) => {
    const started = await person.get(`/authorize?${authorizeQuery({ login_hint: identifier })}`);
    return person.get(started.header('location') ?? '');
  },
  'a forgotten password': async (person, identifier) =>
    person.submit('/password/forgot?tenant=acme', { identifier }),
  'a code by mail': async (person, identifier) =>
    person.submit('/approvals?tenant=acme', { identifier, mail_code: '' }),
  'a registration': async (person, identifier) =>
    person.submit('/register?tenant=acme', { email: `${identifier}@acme.example` }),
};

/** The answer without what is new each time, and without the name that was typed. */
function comparable({ status, text, header }: Answer, identifier: string): string {
  const page = text
    .replaceAll(/value="[^"]*"/g, 'value=""')
    .replaceAll(/&quot;challenge&quot;:&quot;[^&]*/g, '')
    .replaceAll(/(?:interaction|again)=[\w-]+/g, '')
    .replaceAll(identifier, '');
  return `${status} ${(header('location') ?? '').replaceAll(/(?:interaction|again)=[\w-]+/g, '')} ${page}`;
}

describe('known and unknown accounts', () => {
  let system: System;
  beforeAll(async () => {
    system = await startSystem(setUps.compact, {
      // The stores in memory have a bound that many tries reach.
      stores: { databaseUrl: await installedDatabaseUrl(), redisUrl: redisUrl() },
      environment: {
        TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: ample,
        TESSERA_AUTHORIZATION_PENDING_PER_ADDRESS: '100000',
        TESSERA_LOGIN_FAILURES_PER_ACCOUNT: ample,
        TESSERA_LOGIN_FAILURES_PER_ADDRESS: ample,
        // Nobody listens: what matters is the answer.
        TESSERA_SMTP_URL: 'smtp://127.0.0.1:9',
        TESSERA_MAIL_FROM: 'no-reply@acme.example',
        TESSERA_ISSUER: 'http://127.0.0.1:8080',
      },
    });
  });
  afterAll(() => system?.stop());

  it.each(Object.entries(entries))(
    'get the same status, the same text and the same time at %s (ASVS 6.3.8)',
    async (entry, attempt) => {
      const found = new Map(
        [known, unknown].map((name) => [name, { durations: [] as number[], answers: new Set<string>() }]),
      );
      for (let at = -5; at < tries; at += 1) {
        // By turns, so that whatever else the machine does meets both.
        for (const identifier of at % 2 === 0 ? [known, unknown] : [unknown, known]) {
          const person = system.person();
          const before = performance.now();
          const answer = await attempt(person, identifier);
          const duration = performance.now() - before;
          // The first ones warm up.
          if (at >= 0) found.get(identifier)?.durations.push(duration);
          found.get(identifier)?.answers.add(comparable(answer, identifier));
        }
      }
      const [ofKnown, ofUnknown] = [known, unknown].map((name) => found.get(name)?.durations ?? []);
      const apart = standardDeviationsApart(ofKnown ?? [], ofUnknown ?? []);
      const medians = [ofKnown, ofUnknown].map((durations) => `${median(durations ?? []).toFixed(2)} ms`);
      report(`${entry}: ${tries} tries each, median ${medians.join(' and ')}, ${apart.toFixed(2)} apart`);
      expect(found.get(known)?.answers).toEqual(found.get(unknown)?.answers);
      expect(found.get(known)?.answers.size).toBe(1);
      expect(Math.abs(apart)).toBeLessThan(mostApart);
    },
  );
});

describe('the comparison of two samples', () => {
  const noise = (seed: number, from: number) =>
    Array.from(
      { length: 30 },
      (_, index) => from + (Math.abs(Math.sin(seed + index * 12.9898) * 43_758.5453) % 10),
    );

  it('sees no difference where there is none, and one of the size of the noise', () => {
    expect(Math.abs(standardDeviationsApart(noise(1, 50), noise(2, 50)))).toBeLessThan(3);
    expect(standardDeviationsApart(noise(1, 60), noise(2, 50))).toBeGreaterThan(mostApart);
    expect(standardDeviationsApart(noise(1, 50), noise(2, 60))).toBeLessThan(-mostApart);
  });
});
