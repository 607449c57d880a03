import { isDeepStrictEqual } from 'node:util';
import { endings } from '@tessera/directory';
import { runsEverything } from '@tessera/test-kit';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { changedDocument, hashOf } from './testing/changed-values.ts';
import { call, impactWorld, type ImpactWorld, type Issued } from './testing/impact-world.ts';

/** Pairs of states that are tried, and states for each field; `TESSERA_TEST_STATES=1000` tries more. */
const tried = process.env['TESSERA_TEST_STATES'];
const pairs = Number(tried ?? (runsEverything ? 40 : 20));
const statesOfField = Number(tried ?? (runsEverything ? 2 : 1));

const statuses = <T extends string>(...names: readonly T[]) => fc.constantFrom(undefined, ...names);
const policy = fc.constantFrom(undefined, undefined, 'any', 'second-factor', 'phishing-resistant');
const usernames = ['ada', 'Ada', 'bob', 'cleo', 'dan', 'Eve'] as const;
const clients = ['web', 'tv', 'desk', 'box'] as const;
const person = fc.record({
  username: fc.constantFrom(...usernames),
  name: fc.constantFrom('One', 'Another'),
  status: statuses('active', 'disabled', 'locked'),
  passwordHash: fc.constantFrom(undefined, hashOf('aa'), hashOf('bb')),
  roles: fc.subarray(['clerk', 'manager']),
});
const application = fc.record({
  clientId: fc.constantFrom(...clients),
  name: fc.constantFrom('One', 'Another'),
  status: statuses('active', 'disabled'),
  grantTypes: fc.constantFrom(
    ['device_code', 'refresh_token'],
    ['device_code', 'refresh_token'],
    ['device_code'],
  ),
  scopes: fc.constantFrom(['openid', 'offline_access'], ['openid', 'offline_access'], ['openid']),
  allowedRoles: fc.constantFrom(undefined, undefined, ['clerk'], ['manager']),
  authenticationPolicy: policy,
});
const provider = fc.record({
  name: fc.constantFrom('corp', 'club'),
  issuer: fc.constantFrom('https://corp.example', 'https://corp.example', 'https://other.example'),
  displayName: fc.constantFrom('One', 'Another'),
});
const people = fc.uniqueArray(person, {
  selector: ({ username }) => username.toLowerCase(),
  minLength: 1,
  maxLength: 5,
});
const applications = fc.uniqueArray(application, {
  selector: ({ clientId }) => clientId,
  minLength: 1,
  maxLength: 4,
});
const state = fc.record({
  name: fc.constantFrom('One', 'Another'),
  status: statuses('active', 'active', 'disabled'),
  hasIssuer: fc.constantFrom(false, false, false, true),
  authenticationPolicy: policy,
  users: people,
  applications,
  providers: fc.uniqueArray(provider, { selector: ({ name }) => name, maxLength: 2 }),
});
type State = typeof state extends fc.Arbitrary<infer T> ? T : never;

/** What was issued in the first state; people and applications that it does not have get nothing. */
const issued: fc.Arbitrary<Issued> = fc.record({
  person: fc.nat(4),
  application: fc.nat(3),
  isSession: fc.boolean(),
  methods: fc.constantFrom(['pwd'], ['pwd', 'otp', 'mfa'], ['hwk', 'mfa']),
  isOld: fc.constantFrom(false, false, true),
  over: fc.constantFrom('', '', '', 'ended', 'idle', 'expired'),
  atOtherIssuer: fc.constantFrom(false, false, true),
});
const linked = fc.array(fc.record({ person: fc.nat(4), provider: fc.nat(1) }), { maxLength: 6 });

let on: ImpactWorld;
let count = 0;
beforeAll(async () => {
  on = await impactWorld();
});
const newTenant = () => `t${(count += 1)}`;

describe('what the impact of a change says', () => {
  it('is what ends in the stores when it is applied', { timeout: 1_200_000 }, async () => {
    let ended = 0;
    const check = fc.asyncProperty(
      state,
      state,
      fc.array(issued, { minLength: 8, maxLength: 30 }),
      linked,
      async (first, second, given, links) => {
        const tenantId = newTenant();
        const documented = (declared: State) => ({
          document: documentOf(tenantId, declared),
          fileName: 'state.yaml',
        });
        await on.files.apply(documented(first), call());
        await on.issue(tenantId, given, links);
        const { told, found } = await on.toldAndFound(tenantId, documented(second));
        ended += found.sessions.total + found.families.total;
        expect(told).toEqual(found);
      },
    );
    await fc.assert(check, { numRuns: pairs });
    // Too few would show nothing.
    expect(ended).toBeGreaterThan(0);
  });

  it('is in the answer of the administration API to a change that is only validated', async () => {
    const documented = documentOf('api', {
      name: 'One',
      status: 'active',
      hasIssuer: false,
      authenticationPolicy: undefined,
      users: [{ username: 'ada', name: 'One', status: 'active', passwordHash: undefined, roles: [] }],
      applications: [],
      providers: [],
    });
    const made = await on.toldAndFound('api', { document: documented, fileName: 'state.yaml' });
    expect(made.told).toEqual(made.found);
    await on.issue('api', everything([0], [], [['pwd']]));
    const { users } = await on.users.list({ tenantId: 'api' }, call());
    const userId = users[0]?.userId ?? '';
    const asked = { tenantId: 'api', validateOnly: true, impact: true, takeOver: true };
    const ends = {
      people: 1,
      usernames: ['ada'],
      sessions: { total: 1, first: [{ username: 'ada' }] },
      refreshFamilies: { total: 0 },
      consents: { total: 0 },
    };
    const user = { userId, password: 'correct horse battery staple' };
    const { impact } = await on.users.update({ ...asked, user }, call());
    expect(impact).toMatchObject(ends);
    expect(impact).not.toHaveProperty('ends');

    const reset = { tenantId: 'api', userId, validateOnly: true, impact: true };
    const nothing = { people: 0, sessions: { total: 0 }, refreshFamilies: { total: 0 } };
    expect((await on.users.resetSecondFactors(reset, call())).impact).toMatchObject(nothing);
    await on.run(
      'totp',
      'INSERT INTO directory.totp (tenant_id, user_id, sealed, last_step) VALUES ($1, $2, $3, 0)',
      ['api', userId, 'sealed'],
    );
    expect(await on.users.resetSecondFactors(reset, call())).toMatchObject({
      removed: ['totp'],
      impact: ends,
    });

    const credential = { case: 'totp', value: true } as const;
    expect(await on.users.deleteCredential({ ...reset, credential }, call())).toMatchObject({
      removed: 'totp',
      impact: ends,
    });

    const lockDown = { tenantId: 'api', userId, impact: true };
    const locked = await on.users.lockDown(lockDown, call());
    expect(locked.impact).toMatchObject(ends);
    expect(locked.impact).not.toHaveProperty('ends');
    expect((await on.users.lockDown(lockDown, call())).impact).toMatchObject({
      people: 1,
      sessions: { total: 0 },
      refreshFamilies: { total: 0 },
    });

    const resource = { audience: 'https://orders.example', name: 'Orders' };
    await on.resources.create({ tenantId: 'api', resource }, call());
    const renamed = { ...asked, resource: { ...resource, name: 'All orders' } };
    expect((await on.resources.update(renamed, call())).impact).toMatchObject(nothing);
    const { audience } = resource;
    expect((await on.resources.delete({ ...asked, audience }, call())).impact).toMatchObject(nothing);
  });
});

/**
 * The rows of the table of endings that end something, said once more: a row that is changed there must be changed
 * here.
 */
const endingRows = new Set([
  'tenant.status',
  'tenant.issuer',
  'tenant.authenticationPolicy',
  'user.roles',
  'user.status',
  'user.passwordHash',
  'user.deleted',
  'application.status',
  'application.grantTypes',
  'application.scopes',
  'application.allowedRoles',
  'application.authenticationPolicy',
  'application.deleted',
  'provider.issuer',
  'provider.deleted',
  'provider.roleMappings',
]);
type Kind = keyof typeof endings;
/** A tenant is deleted when nothing is left in it. */
const rows = (Object.keys(endings) as Kind[])
  .flatMap((kind) => Object.keys(endings[kind]).map((field) => ({ kind, field, row: `${kind}.${field}` })))
  .filter(({ row }) => row !== 'tenant.deleted');

describe('the change of one field, or the deletion of one record,', () => {
  const beside = fc.record({
    users: people.map((all) => all.filter(({ username }) => username.toLowerCase() !== 'ada')),
    applications: applications.map((all) => [{ ...asksForClerk, ...noChoice }, ...all.slice(0, 2)]),
    given: fc.array(issued, { maxLength: 20 }),
    links: linked,
  });
  type Beside = typeof beside extends fc.Arbitrary<infer T> ? T : never;

  /** Issues something to everybody, and changes the field from one value to the other. */
  async function change(
    { kind, field }: Pick<(typeof rows)[number], 'kind' | 'field'>,
    [from, to]: readonly [0 | 1, 0 | 1],
    { users, applications: others, given, links }: Beside,
  ) {
    const tenantId = newTenant();
    const besides = { users, applications: registered(others, 'ID') };
    const documented = (value: 0 | 1) => ({
      document: changedDocument(tenantId, { kind, field, value }, besides),
      fileName: 'state.yaml',
      ...(field === 'owner' && value === 1 && { owner: 'other', takeOver: true }),
    });
    await on.files.apply(documented(from), call());
    // Mappings decide about people whom no file declares.
    const user = { username: 'gina', roles: ['clerk'], attributes: { team: 'engines' } };
    await on.users.create({ tenantId, user }, call());
    const all = Array.from({ length: users.length + 2 }, (_, at) => at);
    const forEverybody = everything(all, [0, 1, 2, 3], [['pwd'], ['pwd', 'otp', 'mfa']]);
    await on.issue(tenantId, [...forEverybody, ...given], [...all.map(signedIn), ...links]);
    const { told, found } = await on.toldAndFound(tenantId, documented(to));
    return { told, found, endsSomething: found.sessions.total + found.families.total > 0 };
  }

  it.each(rows)('ends what impact says: $row', { timeout: 1_200_000 }, async (row) => {
    let ended = 0;
    let turn = 0;
    const check = fc.asyncProperty(beside, async (others) => {
      const isForth = (turn += 1) % 2 === 1 || row.field === 'owner';
      const { told, found, endsSomething } = await change(row, isForth ? [0, 1] : [1, 0], others);
      ended += Number(endsSomething);
      expect(told).toEqual(found);
    });
    await fc.assert(check, { numRuns: statesOfField });
    expect(ended > 0).toBe(endingRows.has(row.row));
  });

  it.each([...endingRows])('is noticed where the table lacks it: %s', async (name) => {
    const row = rows.find((one) => one.row === name);
    if (row === undefined) throw new Error('there is no such row');
    const { kind, field } = row;
    const table = endings as Readonly<Record<Kind, Record<string, string>>>;
    const ending = table[kind][field] ?? '';
    const [others] = fc.sample(beside, 1);
    table[kind][field] = 'nothing';
    try {
      const { told, found, endsSomething } = await change(row, [0, 1], others as Beside);
      expect(endsSomething && isDeepStrictEqual(told, found)).toBe(false);
    } finally {
      table[kind][field] = ending;
    }
  });
});

const signedIn = (at: number) => ({ person: at, provider: 0 });
const asksForClerk = { clientId: 'clerks', allowedRoles: ['clerk'] };
const noChoice = {
  name: 'Clerks',
  grantTypes: ['device_code', 'refresh_token'],
  scopes: ['openid', 'offline_access'],
};

/** Something of each kind for each of these people. */
function everything(
  people: readonly number[],
  applications: readonly number[],
  methods: readonly (readonly string[])[],
): Issued[] {
  const usual = { isOld: false, over: '', atOtherIssuer: false } as const;
  return people.flatMap((person) =>
    methods.flatMap((by) => [
      { ...usual, person, application: 0, isSession: true, methods: by },
      ...applications.map((application) => ({
        ...usual,
        person,
        application,
        isSession: false,
        methods: by,
      })),
    ]),
  );
}

function registered(all: readonly { readonly clientId: string }[], tenantId: string) {
  return all.map(({ clientId, ...rest }) => ({
    clientId: `${tenantId}-${clientId}`,
    type: 'public',
    name: 'One',
    ...rest,
  }));
}

/** YAML includes JSON. */
function documentOf(id: string, { applications, providers, hasIssuer, ...declared }: State): string {
  const secret = { clientId: 'tessera', clientSecret: 'a secret' };
  const tenant = {
    id,
    issuer: hasIssuer ? `https://${id}.example` : undefined,
    roles: ['clerk', 'manager'],
    applications: registered(applications, id),
    providers: providers.map((declared) => ({ ...declared, ...secret })),
    ...declared,
  };
  return JSON.stringify({ tenants: [tenant] });
}
