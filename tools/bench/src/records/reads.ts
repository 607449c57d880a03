import { createHistogram } from 'node:perf_hooks';
import { tenantId, username } from '../declared-state.ts';
import { largeTenant, manyTenants } from './large-directory.ts';

type Page = { readonly nextPageToken?: string } & {
  readonly [What in keyof typeof lists]?: readonly object[];
};

/** Lists a page. */
type Call = (method: string, request: object) => Promise<Page>;

const inLargeTenant = { tenantId: tenantId(largeTenant) };

/** Of names in the first half, which one page of a search looks through. */
const digit = (number: number) => 1 + (number % 4);

/**
 * Lists of more than a thousand pages, and what finds one and many records; the number makes each search another one.
 */
const lists = {
  users: {
    method: 'admin.v1.UsersService/List',
    fields: inLargeTenant,
    pageSize: 50,
    one: (number: number) => `${username(largeTenant, 0)}-${10_000 + number}@`,
    many: (number: number) => `${username(largeTenant, 0)}-${digit(number)}`,
  },
  applications: {
    method: 'admin.v1.ApplicationsService/List',
    fields: inLargeTenant,
    pageSize: 10,
    one: (number: number) => `-0-1${String(number).padStart(3, '0')}`,
    many: (number: number) => `app-${largeTenant}-0-${digit(number)}`,
  },
  tenants: {
    method: 'admin.v1.TenantsService/List',
    fields: {},
    pageSize: 10,
    one: (number: number) => tenantId(1000 + number),
    many: (number: number) => `tenant-${digit(number)}`,
  },
};

/** Of people: what few, and what all fulfil, alone and together. */
const conditions: Readonly<Record<string, (number: number) => object>> = {
  'by role': () => ({ role: 'clerk' }),
  'by status': () => ({ status: 'locked' }),
  'by provider': () => ({ provider: 'corp' }),
  'without sign-in since': () => ({ notSignedInSince: '2126-01-01T00:00:00Z' }),
  'who never signed in': () => ({ neverSignedIn: true }),
  invited: () => ({ invited: true }),
  'part of a name, and status': (number) => ({ search: `person ${digit(number)}`, status: 'locked' }),
  'part of a name, and role': (number) => ({ search: `person ${digit(number)}`, role: 'clerk' }),
  'by all at once': (number) => ({
    search: `person ${digit(number)}`,
    role: 'clerk',
    status: 'active',
    notSignedInSince: '2126-01-01T00:00:00Z',
    neverSignedIn: true,
  }),
};

/** A kind of call, and the milliseconds that it takes. */
export interface Timed {
  readonly what: string;
  readonly median: number;
  readonly p95: number;
}

/** Requests of each kind. */
const times = 300;
const deepPage = 1000;

/** Lists and searches every kind, one call after another. Throws if an answer is wrong. */
export async function timeReads(call: Call): Promise<Timed[]> {
  const timed: Timed[] = [];
  for (const what of ['users', 'applications', 'tenants'] as const) {
    const { method, fields, pageSize, one, many } = lists[what];
    const list = async (request: object) => call(method, { ...fields, pageSize, ...request });
    const time = async (
      kind: string,
      requestOf: (number: number) => object,
      isRight = (count: number, _next: string): boolean => count === pageSize,
    ): Promise<void> => {
      const taken = createHistogram();
      for (let index = 0; index < times; index += 1) {
        const [request, started] = [requestOf(index), performance.now()];
        const { [what]: records = [], nextPageToken = '' } = await list(request);
        const count = records.length;
        taken.record(Math.ceil((performance.now() - started) * 1000));
        if (!isRight(count, nextPageToken))
          throw new Error(`${count} ${what} for ${JSON.stringify(request)}`);
      }
      const [median, p95] = [taken.percentile(50) / 1000, taken.percentile(95) / 1000];
      timed.push({ what: `${what}: ${kind}`, median, p95 });
    };
    await time('first page', () => ({}));
    // Of other tenants each, which are not in any cache.
    const other = (index: number) => tenantId(((index * 31) % (manyTenants.tenants - 100)) + 50);
    if (what === 'users') {
      await time('first page of a tenant', (index) => ({ tenantId: other(index) }));
      for (const [kind, asked] of Object.entries(conditions)) await time(kind, asked, () => true);
    }
    const pageToken = await tokenOfPage(deepPage, list);
    await time(`page ${deepPage}`, () => ({ pageToken }));
    await time(
      'search for one',
      (number) => ({ search: one(number) }),
      (count) => count === 1,
    );
    await time(
      'search for many',
      (number) => ({ search: many(number) }),
      // A page looks at some people only, of whom none may be found.
      (count, next) => count > 1 || next !== '',
    );
    await time(
      'search for none',
      (number) => ({ search: `nothing-${number}` }),
      (count) => count === 0,
    );
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
