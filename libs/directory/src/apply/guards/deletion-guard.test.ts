import { createSecretKey } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Code, rootCall } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { silentLog, testDatabase, testRuntime } from '@tessera/test-kit';
import { applyAtStart, migrations } from '../../index.ts';
import { startRecords } from '../../testing/start-records.ts';
import { ClientSecrets } from '../../secrets/client-secrets.ts';
import { HashQueue } from '../../ground/hashing/hash-queue.ts';
import { Passwords } from '../../ground/passwords/passwords.ts';
import { createDeclaredTotps } from '../../factors/declared-totps.ts';
import { withheldPassword } from '../../users/claims/withheld-password.ts';
import { createProviderSecrets } from '../../providers/provider-secrets.ts';
import { createAdminStore } from '../../store/admin-store.postgres.ts';
import type { ApplyDeps } from '../applicable.ts';
import { applyDeclaredState } from '../apply.ts';

const call = () => rootCall('a-request', 30_000);
const runtime = () => testRuntime({ database, log: silentLog() });
let database: Database;

beforeAll(async () => {
  database = await testDatabase(migrations);
});

/** A directory process. */
function start() {
  const { files, as, api } = startRecords(database);
  return {
    declaredState: api.declaredState,
    files,
    apply: (document: string, allowDelete?: boolean) =>
      files.apply(
        { document, fileName: 'state.yaml', ...(allowDelete === undefined ? {} : { allowDelete }) },
        call(),
      ),
    subjectOf: async (tenantId: string, identifier: string) =>
      (await as('device').findUser({ tenantId, identifier }, call())).user?.userId,
  };
}

interface Declared {
  readonly users?: readonly string[];
  readonly applications?: readonly string[];
  readonly roles?: readonly string[];
  readonly resources?: readonly string[];
}

function tenant(id: string, { users = [], applications = [], roles = [], resources = [] }: Declared): string {
  return `
  - id: ${id}
    name: ${id}
    roles: [${roles.join(', ')}]
    resources: [${resources.map((audience) => `{ audience: '${audience}', name: API, scopes: [] }`).join(', ')}]
    users: [${users.map((username) => `{ username: ${username} }`).join(', ')}]
    applications: [${applications.map((clientId) => `{ clientId: ${clientId}, name: TV, type: public, grantTypes: [device_code] }`).join(', ')}]`;
}

const fileOf = (...tenants: string[]) => `tenants:${tenants.join('')}\n`;
const numbered = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}-${at}`);

describe('a file that leaves out people or applications', () => {
  it('is refused with a list, before any of its tenants is written, by the directory itself', async () => {
    const { apply, subjectOf } = start();
    const whole = { users: ['ada', 'bob'], applications: ['left-tv', 'left-radio'] };
    await apply(fileOf(tenant('first', { users: ['eve'] }), tenant('left', whole)));
    const bob = await subjectOf('left', 'bob');
    const without = fileOf(
      tenant('first', { users: ['eve', 'mallory'] }),
      tenant('left', { users: ['ada'], applications: ['left-tv'] }),
    );
    // The field is absent, as with a caller of the previous version.
    const refusal: unknown = await apply(without).catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: expect.stringMatching(
        /^Nothing was applied: .*:\nleft: user bob\nleft: application left-radio\n.*`tessera apply --allow-delete`.*`state\.allowDelete`.*TESSERA_APPLY_ALLOW=delete/,
      ) as string,
    });
    await expect(subjectOf('first', 'mallory')).rejects.toMatchObject({ code: Code.NotFound });
    expect(await subjectOf('left', 'bob')).toBe(bob);

    const { tenants } = await apply(without, true);
    expect(tenants.map(({ created, deleted }) => [created, deleted])).toEqual([
      [1, 0],
      [0, 2],
    ]);
    await expect(subjectOf('left', 'bob')).rejects.toMatchObject({ code: Code.NotFound });
    // That is what the guard is for.
    await apply(fileOf(tenant('left', whole)));
    expect(await subjectOf('left', 'bob')).not.toBe(bob);
  });

  it('is refused in the transaction that would delete someone who was added after the file was checked', async () => {
    const { apply, subjectOf } = start();
    await apply(fileOf(tenant('raced', { users: ['ada'] })));
    const store = createAdminStore(database, runtime());
    let looks = 0;
    const deps: ApplyDeps = {
      database,
      store: {
        ...store,
        async tenantState(tenantId, names) {
          const state = await store.tenantState(tenantId, names);
          looks += 1;
          await apply(fileOf(tenant('raced', { users: ['ada', 'late'] })));
          return state;
        },
      },
      secrets: new ClientSecrets(createSecretKey(Buffer.alloc(32))),
      providerSecrets: createProviderSecrets(createSecretKey(Buffer.alloc(32))),
      declaredTotps: createDeclaredTotps(createSecretKey(Buffer.alloc(32))),
      passwords: new Passwords({
        hashQueue: new HashQueue({ concurrency: 1, queue: 1, perAccount: 1 }),
        random: runtime().random,
      }),
      passwordMinLength: 8,
      sharedIssuer: undefined,
      newUserId: () => 'usr_new',
      onChange: () => undefined,
    };
    const text = fileOf(tenant('raced', { users: ['ada'] }));
    await expect(
      applyDeclaredState(
        deps,
        { tenantId: 'raced', text, fileName: 'state.yaml', owner: undefined, takeOver: false },
        {
          base: { actor: { type: 'operator', id: 'operator' }, requestId: 'a-request' },
          signal: new AbortController().signal,
          allowDelete: false,
          allowAdministration: false,
        },
      ),
    ).rejects.toThrow(/^Nothing was applied: [^\n]*\nraced: user late\n/);
    expect(looks).toBe(1);
    expect(await subjectOf('raced', 'late')).toMatch(/^usr_/);
  });

  it('is refused with a list that fits into a log line', async () => {
    const { apply } = start();
    await apply(fileOf(tenant('crowded', { users: numbered('person', 400) })));
    const error: unknown = await apply(fileOf(tenant('crowded', {}))).catch((reason: unknown) => reason);
    const message = (error as { rawMessage: string }).rawMessage;
    expect(message.length).toBeLessThan(4000);
    const listed = message.split('\n').filter((line) => line.startsWith('crowded: user ')).length;
    expect(listed).toBeGreaterThan(100);
    expect(message).toContain(`\nand ${400 - listed} more (\`tessera diff\` lists all)\n`);
  });
});

describe('a file that leaves out roles or resources', () => {
  it.each(['roles', 'resources'] as const)('may delete a tenth of the %s, not more', async (kind) => {
    const { apply, files } = start();
    const id = `tenth-${kind}`;
    const declared = (count: number) => fileOf(tenant(id, { [kind]: numbered(`${id}.item`, count) }));
    await apply(declared(20));
    await expect(apply(declared(17))).rejects.toMatchObject({ code: Code.FailedPrecondition });
    const { tenants } = await files.diff({ document: declared(17), fileName: 'state.yaml' }, call());
    expect(tenants[0]?.differences.map(({ needsAllowDelete }) => needsAllowDelete)).toEqual([
      true,
      true,
      true,
    ]);
    expect((await apply(declared(18))).tenants[0]).toMatchObject({ deleted: 2 });
  });
});

describe('a file that leaves out a provider', () => {
  const provider = (name: string, issuer = `https://${name}.example`) =>
    `{ name: ${name}, issuer: '${issuer}', clientId: acme, clientSecret: a secret }`;
  const hash =
    '$argon2id$v=19$m=19456,t=2,p=1$aaucOpNWRxd1nT4aj381VM$K/16Bwhd94IYHs14QwtJQFSkR2vCFIfosQqsn7wqCp4';
  /** Of many providers one may be left out. */
  const many = numbered('more', 20).map((name) => provider(name));
  const declared = (id: string, providers: readonly string[], ada = '{ username: ada }') => `tenants:
  - id: ${id}
    name: ${id}
    providers: [${[...providers, ...many].join(', ')}]
    users: [${ada}, { username: bob, passwordHash: '${hash}' }, { username: cleo }, { username: dan, status: locked }, { username: eve }]
`;

  it('is refused with the people whom it would leave without a way in, and only those', async () => {
    const { apply, files, subjectOf } = start();
    const id = 'shut-out';
    const both = [provider('corp'), provider('club')];
    await apply(declared(id, both));
    const link = async (username: string, ...names: string[]) => {
      for (const name of names)
        await database.query({
          name: 'test.link',
          text: `INSERT INTO directory.provider_identity (tenant_id, provider, issuer, subject, user_id)
                 VALUES ($1, $2, 'https://' || $2 || '.example', $3, $3)`,
          values: [id, name, await subjectOf(id, username)],
        });
    };
    await link('ada', 'corp');
    await link('bob', 'corp');
    await link('cleo', 'corp', 'club');
    await link('dan', 'corp');
    const refused = (names: string[]) => ({
      code: Code.FailedPrecondition,
      rawMessage: expect.stringMatching(
        new RegExp(
          `^Nothing was applied: [^\\n]*no way in:\\n${names.map((name) => `${id}: user ${name}\\n`).join('')}Declare`,
        ),
      ) as string,
    });
    const withoutCorp = declared(id, [provider('club')]);
    const moved = declared(id, [provider('corp', 'https://other.example'), provider('club')]);
    for (const document of [withoutCorp, moved]) {
      await expect(apply(document)).rejects.toMatchObject(refused(['ada']));
      const { tenants } = await files.diff({ document, fileName: 'state.yaml' }, call());
      expect(tenants[0]?.withoutWayIn).toEqual(['ada']);
    }
    await expect(apply(declared(id, []))).rejects.toMatchObject(refused(['ada', 'cleo']));
    await apply(declared(id, [provider('club')], `{ username: ada, passwordHash: '${hash}' }`));
    await apply(declared(id, []), true);
    expect(await subjectOf(id, 'cleo')).toMatch(/^usr_/);
  });
});

describe('a file that takes back what people sign in with', () => {
  const hash =
    '$argon2id$v=19$m=19456,t=2,p=1$aaucOpNWRxd1nT4aj381VM$K/16Bwhd94IYHs14QwtJQFSkR2vCFIfosQqsn7wqCp4';
  const at = (provider: string, subject: string) => ({ provider, subject });
  const corp = { name: 'corp', issuer: 'https://corp.example', clientId: 'acme', clientSecret: 'a secret' };

  it.each([false, true])(
    'is refused with the people whom it would leave without a way in, and only those; as a part: %s',
    async (isPart) => {
      const { apply, declaredState, files, subjectOf } = start();
      const id = `taken-back-${isPart}`;
      const both = (username: string) => ({ username, identities: [at('corp', username)] });
      const people = ['ada', 'bob', 'cleo', 'dan', 'eve', 'fay'].map(both);
      const document = (users: readonly object[], more: object = {}) =>
        JSON.stringify({ tenants: [{ id, name: 'Acme', users, ...more }] });
      await apply(document(people, { providers: [corp] }));
      const give = async (username: string, declared: string) =>
        database.query({
          name: `test.give_${declared}`,
          text: `WITH given AS (
                   INSERT INTO directory.passkey (tenant_id, credential_id, user_id, user_handle, rp_id, public_key, sign_count,
                                                  transports, synced, backed_up, name)
                   VALUES ($1, $2, $2, $2, 'id.example', '', 0, '{}', false, false, ''))
                 UPDATE directory.user_account SET declared_passkeys = $3::jsonb WHERE tenant_id = $1 AND user_id = $2`,
          values: [
            id,
            await subjectOf(id, username),
            declared === 'declared' ? JSON.stringify([await subjectOf(id, username)]) : null,
          ],
        });
      await give('bob', 'own');
      await give('dan', 'declared');
      await give('eve', 'declared');
      const taken = [
        { username: 'ada', identities: [] },
        { username: 'bob', identities: [] },
        { username: 'cleo', identities: [], passwordHash: hash },
        { username: 'dan', identities: [], passkeys: [] },
        { username: 'eve', passkeys: [] },
        { username: 'fay', identities: [at('corp', 'another')] },
      ];
      const [whole, providers] = [
        document(taken, { providers: [corp] }),
        isPart ? {} : { providers: [corp] },
      ];
      const request = {
        tenantId: id,
        owner: 'file',
        document: document(taken, providers),
        keptKinds: isPart ? ['resource', 'role', 'provider', 'user', 'application'] : [],
      };
      const refused = {
        code: Code.FailedPrecondition,
        rawMessage: expect.stringMatching(
          new RegExp(`^Nothing was applied: [^\\n]*no way in:\\n${id}: user ada\\n${id}: user dan\\nDeclare`),
        ) as string,
      };
      await expect(declaredState.apply(request, call())).rejects.toMatchObject(refused);
      await expect(apply(whole)).rejects.toMatchObject(refused);
      for (const deletionsOnly of [false, true]) {
        const { withoutWayIn } = await declaredState.diff({ ...request, deletionsOnly }, call());
        expect(withoutWayIn).toEqual(['ada', 'dan']);
      }
      await declaredState.apply({ ...request, allowDelete: true }, call());
      const again = await files.diff({ document: whole, fileName: 'state.yaml' }, call());
      expect(again.tenants[0]?.differences).toEqual([]);
    },
  );

  it('is refused if it withholds their password besides', async () => {
    const { apply } = start();
    const ada = { username: 'ada', passwordHash: hash, identities: [at('corp', 'ada')] };
    const document = (user: object) =>
      JSON.stringify({ tenants: [{ id: 'withheld', name: 'Acme', providers: [corp], users: [user] }] });
    await apply(document(ada));
    const unproven = { ...ada, passwordHash: withheldPassword, identities: [] };
    await expect(apply(document(unproven))).rejects.toMatchObject({ code: Code.FailedPrecondition });
    await apply(document(unproven), true);
  });
});

describe('tessera.directory.v1 Diff with deletions_only', () => {
  it('returns deletions and nothing else', async () => {
    const { apply, files } = start();
    await apply(fileOf(tenant('told', { users: ['ada', 'bob'], roles: numbered('role', 10) })));
    const document = fileOf(tenant('told', { users: ['ada', 'cleo'], roles: numbered('role', 9) }));
    const { tenants } = await files.diff({ document, fileName: 'state.yaml', deletionsOnly: true }, call());
    expect(tenants[0]?.differences).toMatchObject([
      { kind: 'role', name: 'role-9', change: 'deleted', needsAllowDelete: false },
      { kind: 'user', name: 'bob', change: 'deleted', needsAllowDelete: true },
    ]);
  });
});

describe('TESSERA_APPLY_FILE that leaves out a person', () => {
  it('is not applied at the start or at a reload, which both go on, until deletions are allowed', async () => {
    const { apply, declaredState, subjectOf } = start();
    await apply(fileOf(tenant('served', { users: ['ada', 'bob'] })));
    const directory = await mkdtemp(join(tmpdir(), 'tessera-apply-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const file = join(directory, 'state.yaml');
    await writeFile(file, fileOf(tenant('served', { users: ['ada'], roles: ['clerk'] })));

    const logged: unknown[] = [];
    const log = Object.assign(silentLog(), { error: (...line: unknown[]) => logged.push(line) });
    const reloads: (() => Promise<void>)[] = [];
    const lifecycle = { onReload: (reload: () => Promise<void>) => void reloads.push(reload) };
    const exposure = { TESSERA_DEMO: false };
    const options = { file, exposure, declaredState, environment: {}, call, log, lifecycle };
    await applyAtStart({ ...options, allowDelete: false, allowAdministration: false });
    const line = [
      { event: 'apply.refused', file, reason: expect.stringContaining('\nserved: user bob\n') as string },
      'declared state not applied',
    ];
    expect(logged).toEqual([line]);
    await reloads[0]?.();
    expect(logged).toEqual([line, line]);
    expect(await subjectOf('served', 'bob')).toMatch(/^usr_/);

    await applyAtStart({ ...options, allowDelete: true, allowAdministration: false });
    await expect(subjectOf('served', 'bob')).rejects.toMatchObject({ code: Code.NotFound });
  });
});
