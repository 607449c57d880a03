import { tenantId, username } from '../declared-state.ts';
import { timesOf, type AdminCalls, type Times } from './admin-calls.ts';
import { largeTenant, manyTenants } from './large-directory.ts';

interface Page {
  readonly nextPageToken?: string;
  readonly users?: readonly object[];
  readonly applications?: readonly object[];
  readonly tenants?: readonly object[];
}

interface ListOf {
  readonly what: 'users' | 'applications' | 'tenants';
  readonly method: string;
  readonly fields: object;
  /** Of which there are more than a thousand pages. */
  readonly pageSize: number;
  /** What is searched for, and how many of the first page are found; the number makes each search another one. */
  readonly searches: readonly (readonly [
    what: string,
    search: (number: number) => string,
    isFound: (count: number) => boolean,
  ])[];
}

const inLargeTenant = { tenantId: tenantId(largeTenant) };
const one = (count: number) => count === 1;
const many = (count: number) => count > 1;
const none = (count: number) => count === 0;

/** Of names in the first half, which one page of a search looks through. */
const digit = (number: number) => 1 + (number % 4);

const lists: readonly ListOf[] = [
  {
    what: 'users',
    method: 'admin.v1.UsersService/List',
    fields: inLargeTenant,
    pageSize: 50,
    searches: [
      ['search for one', (number) => `${username(largeTenant, 0)}-${10_000 + number}@`, one],
      ['search for many', (number) => `${username(largeTenant, 0)}-${digit(number)}`, many],
      ['search for none', (number) => `nobody-${number}`, none],
    ],
  },
  {
    what: 'applications',
    method: 'admin.v1.ApplicationsService/List',
    fields: inLargeTenant,
    pageSize: 10,
    searches: [
      ['search for one', (number) => `-0-1${String(number).padStart(3, '0')}`, one],
      ['search for many', (number) => `app-${largeTenant}-0-${digit(number)}`, many],
      ['search for none', (number) => `nothing-${number}`, none],
    ],
  },
  {
    what: 'tenants',
    method: 'admin.v1.TenantsService/List',
    fields: {},
    pageSize: 10,
    searches: [
      ['search for one', (number) => tenantId(1000 + number), one],
      ['search for many', (number) => `tenant-${digit(number)}`, many],
      ['search for none', (number) => `nothing-${number}`, none],
    ],
  },
];

/** A kind of call, and what it takes. */
export type Timed = readonly [call: string, times: Times];

/** Requests of each kind. */
const times = 300;
const deepPage = 1000;

/** Lists and searches every kind, one call after another. Throws if an answer is wrong. */
export async function timeReads(admin: AdminCalls): Promise<Timed[]> {
  const timed: Timed[] = [];
  for (const { what, method, fields, pageSize, searches } of lists) {
    const list = async (request: object) => admin.call<Page>(method, { ...fields, pageSize, ...request });
    const pageOf = async (expected: (count: number) => boolean, request: object): Promise<void> => {
      const count = (await list(request))[what]?.length ?? 0;
      if (!expected(count)) throw new Error(`${count} ${what} for ${JSON.stringify(request)}`);
    };
    const full = (count: number) => count === pageSize;
    timed.push([`${what}: first page`, await timesOf(times, async () => pageOf(full, {}))]);
    if (what === 'users') {
      // Of other tenants each, which are not in any cache.
      const others = async (index: number) =>
        pageOf(full, { tenantId: tenantId(((index * 31) % (manyTenants.tenants - 100)) + 50) });
      timed.push([`${what}: first page of a tenant`, await timesOf(times, others)]);
    }
    const pageToken = await tokenOfPage(deepPage, list);
    timed.push([`${what}: page ${deepPage}`, await timesOf(times, async () => pageOf(full, { pageToken }))]);
    for (const [name, search, isFound] of searches)
      timed.push([
        `${what}: ${name}`,
        await timesOf(times, async (index) => pageOf(isFound, { search: search(index) })),
      ]);
  }
  return timed;
}

async function tokenOfPage(number: number, list: (request: object) => Promise<Page>): Promise<string> {
  let pageToken = '';
  for (let page = 1; page < number; page += 1) {
    ({ nextPageToken: pageToken = '' } = await list({ pageToken }));
    if (pageToken === '') throw new Error(`there is no page ${page + 1}`);
  }
  return pageToken;
}
