import { createHistogram } from 'node:perf_hooks';
import { callAsOperator, HttpClient, Person } from '@tessera/test-client';
import { tenantId, username } from '../declared-state.ts';
import { largeTenant } from './large-directory.ts';
import type { Timed } from './reads.ts';

/** Settings with which the process at an administration port serves the console too. */
export const withConsole = (port: number, seed: string) => ({
  TESSERA_CONSOLE_URL: `http://127.0.0.1:${port}`,
  TESSERA_CONSOLE_SECRET: `console-${seed}`,
  TESSERA_OPERATOR_TENANT: operators,
});

const operators = tenantId(0);
const times = 200;
const organization = `/console/o/${tenantId(largeTenant)}`;
const people = `${organization}/people`;

/** Of the console: pages of the large tenant, one request after another. Throws if a page is not as it should be. */
export async function timeConsole(
  baseUrl: string,
  { port, token }: { readonly port: number; readonly token: string },
): Promise<Timed[]> {
  const person = await signedIn(baseUrl, port, token);
  const open = async (path: string): Promise<string> => {
    const { status, text } = await person.get(path);
    if (status !== 200) throw new Error(`${path} was answered with ${status}`);
    return text;
  };
  const time = async (what: string, pathOf: (number: number) => string, expected: RegExp): Promise<Timed> => {
    const taken = createHistogram();
    for (let number = 0; number < times; number += 1) {
      const [path, started] = [pathOf(number), performance.now()];
      const text = await open(path);
      taken.record(Math.ceil((performance.now() - started) * 1000));
      if (!expected.test(text)) throw new Error(`${path} does not show what it should`);
    }
    const [median, p95] = [taken.percentile(50) / 1000, taken.percentile(95) / 1000];
    return { what: `console: ${what}`, median, p95 };
  };
  const first = await open(people);
  const next = /<a rel="next" href="([^"]+)"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const one = new RegExp(`href="(${people}/[^/"?]+)"`).exec(first)?.[1] ?? '';
  const named = (number: number) => `${username(largeTenant, 0)}-${10_000 + number}@`;
  const row = new RegExp(`href="${people}/[^/"?]+"`);
  return [
    await time('people', () => people, row),
    await time('next page of people', () => next, row),
    await time('search for one person', (number) => `${people}?q=${encodeURIComponent(named(number))}`, row),
    await time('search for many', (number) => `${people}?q=person+${1 + (number % 4)}`, /<table|rel="next"/),
    await time(
      'find one by name',
      (number) => `${organization}/find?q=${encodeURIComponent(named(number))}`,
      row,
    ),
    await time('find many by name', (number) => `${organization}/find?q=person+${1 + (number % 4)}`, row),
    await time('find an application', (number) => `${organization}/find?q=app+${number}`, /class="results"/),
    await time('one person', () => one, /<h1/),
    await time('applications', () => `${organization}/applications`, /<table/),
    await time('organizations', () => '/console/', /<table/),
    await time('overview', () => organization, /<h1/),
  ];
}

/** An operator in the console, by a sign-in at the issuer. */
async function signedIn(baseUrl: string, port: number, token: string): Promise<Person> {
  const login = { tenant: operators, username: 'bench-operator', password: `a passphrase ${token}` };
  const user = { username: login.username, password: login.password, roles: ['tessera.administrator'] };
  await callAsOperator(port, token, 'admin.v1.UsersService/Create', { tenantId: operators, user });
  const console = new Person(new HttpClient(() => `http://127.0.0.1:${port}`), login);
  const start = await console.get('/console/start?organization=');
  const sent = new URL(start.header('location') ?? '');
  const back = await new Person(new HttpClient(() => baseUrl), login).authorize(sent.search.slice(1), login);
  const { pathname, search } = new URL(back.header('location') ?? '');
  await console.get(`${pathname}${search}`);
  return console;
}
