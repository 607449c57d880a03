import fc from 'fast-check';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startDirectory } from '../testing/start-directory.ts';
import { migrations } from '../wiring.ts';

/** Pairs of states that are tried; `TESSERA_TEST_STATES=1000` tries more. */
const pairs = Number(process.env['TESSERA_TEST_STATES'] ?? 60);

const hashOf = (salt: string) =>
  `$argon2id$v=19$m=19456,t=2,p=1$${salt}ucOpNWRxd1nT4aj381VM$K/16Bwhd94IYHs14QwtJQFSkR2vCFIfosQqsn7wqCp4`;
const statuses = <T extends string>(...names: readonly T[]) => fc.constantFrom(undefined, ...names);

const person = fc.record({
  username: fc.constantFrom('ada', 'Ada', 'bob', 'cleo', 'dan', 'Eve'),
  name: fc.constantFrom('One', 'Another'),
  status: statuses('active', 'disabled', 'locked'),
  passwordHash: fc.constantFrom(undefined, hashOf('aa'), hashOf('bb')),
  roles: fc.subarray(['clerk', 'manager']),
});
const application = fc.record({
  clientId: fc.constantFrom('web', 'tv', 'desk', 'box'),
  name: fc.constantFrom('One', 'Another'),
  status: statuses('active', 'disabled'),
});
const state = fc.record({
  name: fc.constantFrom('One', 'Another'),
  status: statuses('active', 'disabled'),
  users: fc.uniqueArray(person, { selector: ({ username }) => username.toLowerCase(), maxLength: 5 }),
  applications: fc.uniqueArray(application, { selector: ({ clientId }) => clientId, maxLength: 4 }),
});
type State = typeof state extends fc.Arbitrary<infer T> ? T : never;

/** A row that says since when sign-ins count. */
interface Validity {
  readonly kind: 'user' | 'application';
  readonly id: string;
  readonly name: string;
  readonly own: number;
  readonly tenants: number;
}

const validities = `
  SELECT 'user' AS kind, user_id AS id, username AS name, u.valid_from::float8 AS own, t.valid_from::float8 AS tenants
    FROM directory.user_account u JOIN directory.tenant t USING (tenant_id) WHERE tenant_id = $1
   UNION ALL
  SELECT 'application', client_id, client_id, a.valid_from::float8, t.valid_from::float8
    FROM directory.application a JOIN directory.tenant t USING (tenant_id) WHERE tenant_id = $1`;

let database: Database;
let count = 0;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

describe('the impact of a plan', () => {
  it('is what ends in the database when it is applied', { timeout: 1_200_000 }, async () => {
    const { admin } = startDirectory(database);
    const check = fc.asyncProperty(state, state, async (first, second) => {
      const tenantId = `t${(count += 1)}`;
      const documented = (declared: State) => ({
        document: documentOf(tenantId, declared),
        fileName: 'state.yaml',
      });
      await admin.apply(documented(first), call());
      const { rows: before } = await database.query<Validity>({
        name: 'test.validities',
        text: validities,
        values: [tenantId],
      });
      const { tenants } = await admin.diff({ ...documented(second), impact: true }, call());
      await admin.apply({ ...documented(second), allowDelete: true }, call());
      const { rows: ended } = await database.query<Pick<Validity, 'kind' | 'name'>>({
        name: 'test.ended',
        text: `SELECT b.kind, b.name FROM jsonb_to_recordset($2::jsonb)
                   AS b(kind text, id text, name text, own float8, tenants float8)
                 LEFT JOIN (${validities}) a ON a.kind = b.kind AND a.id = b.id
                WHERE a.id IS NULL OR a.own > b.own OR a.tenants > b.tenants`,
        values: [tenantId, JSON.stringify(before)],
      });
      const namesOf = (kind: Validity['kind']) =>
        ended
          .filter((row) => row.kind === kind)
          .map(({ name }) => name)
          .toSorted();
      const [usernames, clientIds] = [namesOf('user'), namesOf('application')];
      expect(tenants[0]?.impact).toMatchObject({
        people: usernames.length,
        usernames,
        applications: clientIds.length,
        clientIds,
      });
    });
    await fc.assert(check, { numRuns: pairs });
  });

  it('names a hundred people and counts all', async () => {
    const { admin } = startDirectory(database);
    const numbers = Array.from({ length: 105 }, (_, at) => String(at).padStart(3, '0'));
    const documented = (status: string) => ({
      document: JSON.stringify({
        tenants: [{ id: 'many', name: 'Many', status, users: numbers.map((username) => ({ username })) }],
      }),
      fileName: 'state.yaml',
    });
    await admin.apply(documented('active'), call());
    const { tenants } = await admin.diff({ ...documented('disabled'), impact: true }, call());
    expect(tenants[0]?.impact).toMatchObject({
      people: 105,
      usernames: numbers.slice(0, 100),
      applications: 0,
    });
    const [unasked] = (await admin.diff(documented('disabled'), call())).tenants;
    expect(unasked?.impact).toBeUndefined();
  });
});

/** YAML includes JSON. */
function documentOf(id: string, { applications, ...declared }: State): string {
  const registered = applications.map(({ clientId, ...rest }) => ({
    clientId: `${id}-${clientId}`,
    type: 'public',
    grantTypes: ['device_code'],
    ...rest,
  }));
  return JSON.stringify({
    tenants: [{ id, roles: ['clerk', 'manager'], applications: registered, ...declared }],
  });
}
