import { combine, loadConfig } from '@tessera/process';
import { local, onBehalfOf, rootCall } from '@tessera/rpc';
import { systemRandom } from '@tessera/kit';
import type { BuiltService, CallerName } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import type { Runtime } from '@tessera/process';
import { temporarilyUnavailable } from '@tessera/oauth';
import { KeysService as AdministrationService } from '@tessera/proto-gen/admin-keys';
import { KeysService, KeyState, TokenType } from '@tessera/proto-gen/keys';
import { fakeClock, testDatabase, testRuntime, waitFor } from '@tessera/test-kit';
import { compactVerify, decodeProtectedHeader, importJWK } from 'jose';
import { afterEach, describe, expect, it } from 'vitest';
import { buildKeys, keysConfig, migrations, type KeysOptions } from './index.ts';

const kek = () => systemRandom.bytes(32).toString('base64');
const call = () => rootCall('a-request', 10_000);
const payload = new TextEncoder().encode('{"sub":"u1"}');
const item = { type: TokenType.ACCESS_TOKEN, payload };

const built: BuiltService[] = [];
afterEach(async () => {
  await Promise.all(built.splice(0).map((service) => service.close()));
});

function start(
  database: Database,
  settings: Record<string, string> = {},
  overrides: Partial<Runtime> = {},
  options: KeysOptions = {},
) {
  const environment = { TESSERA_KEYS_KEK: sharedKek, TESSERA_KEYS_RELOAD_INTERVAL: '50ms', ...settings };
  const runtime = testRuntime({ database, ...overrides });
  const service = buildKeys(
    loadConfig(keysConfig, environment, { known: Object.keys(environment) }),
    {},
    runtime,
    options,
  );
  built.push(service);
  return {
    service,
    as: (caller: CallerName) => local(KeysService, service, caller, runtime.log),
    api: local(AdministrationService, service, 'admin', runtime.log),
  };
}

const sharedKek = kek();

/** A handle to the same database that can be cut off. */
function breakable(database: Database) {
  const line = { cut: false };
  const guard = <T>(work: () => Promise<T>) => (line.cut ? Promise.reject(temporarilyUnavailable()) : work());
  const handle: Database = {
    ...database,
    query: (statement) => guard(() => database.query(statement)),
    transaction: (work) => guard(() => database.transaction(work)),
  };
  return { handle, line };
}

const rs256 = { algorithms: ['RS256'] };

async function publicKeysOf(keys: ReturnType<typeof start>) {
  return (await keys.as('gateway').getPublicKeys(rs256, call())).keys;
}

/** Rotates the keys of an issuer; resolves with the key that signs with RS256 then. */
async function rotate(
  { api }: ReturnType<typeof start>,
  request: { immediately?: boolean; tenantId?: string } = {},
) {
  const { keys } = await api.rotate(request, call());
  return keys.find(({ algorithm, state }) => algorithm === 'RS256' && state === 'active')?.kid ?? '';
}

async function verify(token: string, keys: Awaited<ReturnType<typeof publicKeysOf>>) {
  const { kid } = decodeProtectedHeader(token);
  const key = keys.find((candidate) => candidate.kid === kid);
  if (key === undefined) throw new Error('the signing key is not published');
  const publicKey = await importJWK({ kty: 'RSA', ...key.members }, 'RS256');
  return compactVerify(token, publicKey, { algorithms: ['RS256'] });
}

describe('the keys service', () => {
  it('signs with a key that it publishes, and a JOSE library verifies the signature', async () => {
    const keys = start(await testDatabase(migrations));
    await keys.service.ready();
    const { tokens } = await keys
      .as('token')
      .sign({ items: [item, { ...item, type: TokenType.ID_TOKEN }] }, call());
    const published = await publicKeysOf(keys);
    expect(published.map((key) => key.state)).toEqual([KeyState.ACTIVE]);
    expect(tokens).toHaveLength(2);
    for (const token of tokens) expect((await verify(token, published)).payload).toEqual(payload);
  });

  it('has exactly one first key if twenty processes start at once, and all sign with it', async () => {
    const database = await testDatabase(migrations);
    const all = Array.from({ length: 20 }, () => start(database));
    await Promise.all(all.map((keys) => keys.service.ready()));
    const kids = await Promise.all(
      all.map(async (keys) => {
        const { tokens } = await keys.as('token').sign({ items: [item] }, call());
        return decodeProtectedHeader(tokens[0] ?? '').kid;
      }),
    );
    expect(new Set(kids).size).toBe(1);
    expect(await publicKeysOf(all[0] ?? start(database))).toHaveLength(1);
  });

  it('stores no private key unencrypted', async () => {
    const database = await testDatabase(migrations);
    await start(database).service.ready();
    const { rows } = await database.query<{ wrapped_private_key: string }>({
      name: 'test.wrapped',
      text: 'SELECT wrapped_private_key FROM keys.signing_key',
    });
    expect(rows[0]?.wrapped_private_key).toMatch(/^v1\.[\w-]{8}\.[\w-]{1600,}$/);
  });

  it('lets only token sign, and who verifies read the key set', async () => {
    const keys = start(await testDatabase(migrations));
    await keys.service.ready();
    for (const caller of [
      'gateway',
      'authorize',
      'device',
      'directory',
      'introspector',
      'operator',
    ] as const) {
      await expect(keys.as(caller).sign({ items: [item] }, call())).rejects.toThrow('permission_denied');
    }
    await expect(keys.as('introspector').getPublicKeys({}, call())).rejects.toThrow('permission_denied');
  });

  it('refuses items without type or payload, and too many of them', async () => {
    const keys = start(await testDatabase(migrations));
    await keys.service.ready();
    const token = keys.as('token');
    await expect(token.sign({ items: [{ payload }] }, call())).rejects.toThrow('invalid_argument');
    await expect(token.sign({ items: [{ type: item.type }] }, call())).rejects.toThrow('invalid_argument');
    await expect(token.sign({ items: Array.from({ length: 1025 }, () => item) }, call())).rejects.toThrow(
      'invalid_argument',
    );
    expect((await token.sign({ items: [] }, call())).tokens).toEqual([]);
  });

  it('adds the hash only of an earlier token and only to a JSON object', async () => {
    const keys = start(await testDatabase(migrations));
    await keys.service.ready();
    const sign = (second: object) => keys.as('token').sign({ items: [item, { ...item, ...second }] }, call());
    const [, idToken = ''] = (await sign({ type: TokenType.ID_TOKEN, atHashOf: 0 })).tokens;
    const { payload: claims } = await verify(idToken, await publicKeysOf(keys));
    expect(Object.keys(JSON.parse(new TextDecoder().decode(claims)) as object)).toEqual(['sub', 'at_hash']);
    for (const atHashOf of [1, 2]) await expect(sign({ atHashOf })).rejects.toThrow('invalid_argument');
    for (const text of ['[]', '"a"', 'null', '{', 'no']) {
      const bad = sign({ atHashOf: 0, payload: new TextEncoder().encode(text) });
      await expect(bad).rejects.toThrow('invalid_argument');
    }
  });
});

describe('rotation', () => {
  it('publishes a key first, signs with it after its lead time, and keeps the former one published', async () => {
    const database = await testDatabase(migrations);
    const keys = start(database, { TESSERA_KEYS_PUBLISH_AHEAD: '1s' });
    await keys.service.ready();
    const before = await keys.as('token').sign({ items: [item] }, call());
    const first = decodeProtectedHeader(before.tokens[0] ?? '').kid;

    expect(await rotate(keys)).toBe(first);
    expect((await publicKeysOf(keys)).map((key) => key.state)).toEqual([KeyState.PUBLISHED, KeyState.ACTIVE]);

    await waitFor(async () =>
      expect((await publicKeysOf(keys)).map((key) => key.state)).toEqual([KeyState.ACTIVE, KeyState.RETIRED]),
    );
    const after = await keys.as('token').sign({ items: [item] }, call());
    const published = await publicKeysOf(keys);
    expect(decodeProtectedHeader(after.tokens[0] ?? '').kid).toBe(published[0]?.kid);
    expect(published[1]?.kid).toBe(first);
    await verify(before.tokens[0] ?? '', published);
    await verify(after.tokens[0] ?? '', published);
  });

  it('signs with no key that is not in the key set of every process, however urgent it is', async () => {
    const database = await testDatabase(migrations);
    const [a, b] = [start(database), start(database)];
    await Promise.all([a.service.ready(), b.service.ready()]);
    const known = (await publicKeysOf(b)).map(({ kid }) => kid);
    let signed = known[0];
    let isKnown = true;
    const rotated = a.api.rotate({ immediately: true }, call());
    while (signed === known[0]) {
      const { tokens } = await a.as('token').sign({ items: [item] }, call());
      signed = decodeProtectedHeader(tokens[0] ?? '').kid;
      isKnown = known.includes(signed ?? '');
      known.push(...(await publicKeysOf(b)).map(({ kid }) => kid));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(isKnown).toBe(true);
    expect((await rotated).keys.find(({ kid }) => kid === signed)?.state).toBe('active');
  });

  it('skips the lead time on an immediate rotation, once per request and not once per replica', async () => {
    const database = await testDatabase(migrations);
    const [a, b] = [start(database), start(database)];
    await Promise.all([a.service.ready(), b.service.ready()]);
    const first = (await publicKeysOf(a))[0]?.kid;
    const activeKid = await rotate(a, { immediately: true });
    expect(activeKid).not.toBe(first);
    await waitFor(async () => {
      const { tokens } = await b.as('token').sign({ items: [item] }, call());
      expect(decodeProtectedHeader(tokens[0] ?? '').kid).toBe(activeKid);
    });
    expect(await publicKeysOf(b)).toHaveLength(2);
  });

  it('happens on schedule while replicas sign, and every token verifies with keys fetched before it was signed', async () => {
    const database = await testDatabase(migrations);
    const settings = {
      TESSERA_KEYS_ROTATION_PERIOD: '3s',
      TESSERA_KEYS_PUBLISH_AHEAD: '2s',
    };
    const replicas = [start(database, settings), start(database, settings), start(database, settings)];
    await Promise.all(replicas.map((keys) => keys.service.ready()));
    const [first = start(database, settings)] = replicas;
    const kids = new Set<string | undefined>();
    const end = Date.now() + 15_000;
    while (kids.size < 3 && Date.now() < end) {
      // A verifier whose copy of the key set is 400 ms old when the token is made.
      const copy = await publicKeysOf(first);
      await new Promise((resolve) => setTimeout(resolve, 400));
      for (const keys of replicas) {
        const { tokens } = await keys.as('token').sign({ items: [item] }, call());
        await verify(tokens[0] ?? '', copy);
        kids.add(decodeProtectedHeader(tokens[0] ?? '').kid);
      }
    }
    expect(kids.size).toBe(3);
  });
});

describe('the calls of administrators', () => {
  const from = { tenantId: 'ops', type: 'user', id: 'usr_ada' } as const;

  it('list keys with their times and without anything of the keys, and rotate and withdraw them', async () => {
    const database = await testDatabase(migrations);
    const { service, api, as } = start(database);
    await service.ready();
    await as('gateway').getPublicKeys({ declared: ['ES256'] }, call());
    const states = async () =>
      (await api.list({}, call())).keys.map(({ algorithm, state, publishTime, activateTime, retireTime }) => [
        algorithm,
        state,
        ...[publishTime, activateTime, retireTime].map((time) => time !== undefined),
      ]);
    expect(await states()).toEqual([
      ['RS256', 'active', true, true, false],
      ['ES256', 'active', true, true, false],
    ]);
    await api.rotate({}, call());
    expect((await states())[0]).toEqual(['RS256', 'published', true, false, false]);
    const { keys } = await api.rotate({ immediately: true }, onBehalfOf(call(), from));
    expect((await api.list({}, call())).keys).toEqual(keys);
    expect((await states())[1]).toEqual(['RS256', 'retired', true, true, true]);
    const [active, retired] = keys;
    expect(Object.keys(active ?? {}).toSorted()).toEqual(
      ['$typeName', 'activateTime', 'algorithm', 'kid', 'publishTime', 'state'].toSorted(),
    );
    const publishedAt = Number(active?.publishTime?.seconds) * 1000;
    expect(Math.abs(publishedAt - Date.now())).toBeLessThan(60_000);

    await expect(api.withdraw({ kid: active?.kid ?? '' }, call())).rejects.toThrow('failed_precondition');
    await api.withdraw({ kid: retired?.kid ?? '' }, call());
    await expect(api.withdraw({ kid: retired?.kid ?? '' }, call())).rejects.toThrow('not_found');
    const { rows } = await database.query({
      name: 'test.actor_of_activation',
      text: `SELECT DISTINCT record -> 'actor' AS actor FROM keys.audit_event WHERE event = 'key.retired'`,
    });
    expect(rows).toEqual([{ actor: from }]);
  });

  it('make no keys for an issuer that has none', async () => {
    const database = await testDatabase(migrations);
    const { service, api } = start(database);
    await service.ready();
    for (const attempt of [api.list, api.rotate])
      await expect(attempt({ tenantId: 'typo' }, call())).rejects.toThrow('no keys of its own');
    await expect(api.withdraw({ tenantId: 'typo', kid: 'k' }, call())).rejects.toThrow('no keys of its own');
    await expect(api.list({ tenantId: 'NOT A TENANT' }, call())).rejects.toThrow('invalid_argument');
    const { rows } = await database.query({
      name: 'test.tenant_keys',
      text: 'SELECT kid FROM keys.tenant_signing_key',
    });
    expect(rows).toEqual([]);
  });
});

describe('ES256', () => {
  const signed = { ...item, algorithm: 'ES256' };
  const both = { algorithms: ['RS256', 'ES256'] };
  const everyKey = { ...both, declared: ['ES256'] };

  async function keysOf(keys: ReturnType<typeof start>, tenantId = '') {
    return (await keys.as('gateway').getPublicKeys({ ...everyKey, tenantId }, call())).keys;
  }

  async function verified(token: string, published: Awaited<ReturnType<typeof keysOf>>) {
    const { alg, kid } = decodeProtectedHeader(token);
    const key = published.find((candidate) => candidate.kid === kid);
    if (key === undefined) throw new Error('the signing key is not published');
    expect(key.algorithm).toBe(alg);
    const publicKey = await importJWK({ kty: alg === 'ES256' ? 'EC' : 'RSA', ...key.members }, alg);
    await compactVerify(token, publicKey, { algorithms: [alg ?? ''] });
    return { alg, kid };
  }

  /** Signs as soon as the first key may. */
  const signing = (keys: ReturnType<typeof start>, tenantId = '', items = [signed]) =>
    waitFor(async () => (await keys.as('token').sign({ items, tenantId }, call())).tokens);

  it('has no ring while no resource of the issuer declares it', async () => {
    const keys = start(await testDatabase(migrations));
    await keys.service.ready();
    for (const tenantId of ['', 'acme']) {
      for (const declared of [[], ['RS256'], ['ML-DSA-44']]) {
        const answer = await keys.as('gateway').getPublicKeys({ ...both, tenantId, declared }, call());
        expect(answer.keys.map(({ algorithm }) => algorithm)).toEqual(['RS256']);
        expect(answer.algorithms).toEqual(['RS256', 'ES256']);
      }
    }
  });

  it('signs with its first key when every key set has it, however seldom a process reloads', async () => {
    const database = await testDatabase(migrations);
    const settings = { TESSERA_KEYS_RELOAD_INTERVAL: '1m' };
    const [first, second] = [start(database, settings), start(database, settings)];
    await Promise.all([first.service.ready(), second.service.ready()]);
    for (const tenantId of ['', 'acme']) {
      for (const keys of [first, second]) await keys.as('token').sign({ items: [item], tenantId }, call());
      const began = Date.now();
      const sign = first.as('token').sign({ items: [signed, item], tenantId }, call());
      await expect(sign).rejects.toMatchObject({ code: 'temporarily_unavailable' });
      const { keys: known } = await second.as('gateway').getPublicKeys({ ...both, tenantId }, call());
      const [token = ''] = await signing(first, tenantId);
      expect(Date.now() - began).toBeGreaterThan(2_500);
      expect((await verified(token, known)).alg).toBe('ES256');
      expect((await verified((await signing(second, tenantId))[0] ?? '', known)).alg).toBe('ES256');
    }
  });

  it('is not said to be known by a process that cannot read whether there are keys, and never keeps RS256 waiting', async () => {
    const database = await testDatabase(migrations);
    const { handle, line } = breakable(database);
    const settings = { TESSERA_KEYS_RELOAD_INTERVAL: '1m' };
    const [keys, cutOff] = [start(database, settings), start(handle, settings)];
    await Promise.all([keys.service.ready(), cutOff.service.ready()]);
    line.cut = true;
    await keysOf(keys);
    for (const asked of [both, everyKey]) {
      const answer = await cutOff.as('gateway').getPublicKeys(asked, call());
      expect(answer.algorithms).toEqual(['RS256']);
      expect(answer.keys.map(({ algorithm }) => algorithm)).toEqual(['RS256']);
    }
    const sign = (items: (typeof signed)[]) => cutOff.as('token').sign({ items }, call());
    await expect(sign([signed])).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect((await sign([{ ...item, algorithm: '' }])).tokens).toHaveLength(1);
    line.cut = false;
    const answer = await cutOff.as('gateway').getPublicKeys(both, call());
    expect(answer.algorithms).toEqual(['RS256', 'ES256']);
    expect(answer.keys.map(({ algorithm }) => algorithm)).toEqual(['RS256', 'ES256']);
  });

  it('waits a moment only for a store that does not answer', async () => {
    const database = await testDatabase(migrations);
    let answered: Promise<void> = Promise.resolve();
    const query: Database['query'] = async (statement) =>
      answered.then(async () => database.query(statement));
    const keys = start({ ...database, query }, { TESSERA_KEYS_RELOAD_INTERVAL: '1m' });
    await keys.service.ready();
    const { promise, resolve: answer } = Promise.withResolvers<void>();
    answered = promise;
    const { keys: known } = await keys.as('gateway').getPublicKeys(everyKey, rootCall('a-request', 1_000));
    expect(known.map(({ algorithm }) => algorithm)).toEqual(['RS256']);
    answer();
  });

  it('has a ring of its own, published before any token asks for it, for the shared issuer and for tenants', async () => {
    const keys = start(await testDatabase(migrations));
    await keys.service.ready();
    for (const tenantId of ['', 'acme']) {
      const published = await keysOf(keys, tenantId);
      expect(published.map(({ algorithm, state }) => [algorithm, state])).toEqual([
        ['RS256', KeyState.ACTIVE],
        ['ES256', KeyState.ACTIVE],
      ]);
      const tokens = await signing(keys, tenantId, [signed, { ...item, algorithm: '' }]);
      const algorithms = await Promise.all(tokens.map((token) => verified(token, published)));
      expect(algorithms.map(({ alg }) => alg)).toEqual(['ES256', 'RS256']);
    }
  });

  it('is in the answer if it was asked for, which says of what algorithms it has every key', async () => {
    const keys = start(await testDatabase(migrations));
    await keys.service.ready();
    const answer = await keys.as('gateway').getPublicKeys(rs256, call());
    expect(answer.keys.map(({ algorithm }) => algorithm)).toEqual(['RS256']);
    expect((await keys.as('gateway').getPublicKeys(everyKey, call())).algorithms).toEqual(['RS256', 'ES256']);
  });

  it('gives way to RS256 if a newer process asks for an algorithm that this one does not know', async () => {
    const keys = start(await testDatabase(migrations));
    await keys.service.ready();
    const asked = { items: [{ ...item, algorithm: 'ML-DSA-44' }] };
    const { tokens } = await keys.as('token').sign(asked, call());
    expect(decodeProtectedHeader(tokens[0] ?? '').alg).toBe('RS256');
    const answer = await keys.as('gateway').getPublicKeys({ algorithms: ['ES256', 'ML-DSA-44'] }, call());
    expect(answer.algorithms).toEqual(['ES256']);
  });

  it('rotates together with RS256, and its retired key can be withdrawn', async () => {
    const keys = start(await testDatabase(migrations));
    await keys.service.ready();
    for (const tenantId of ['', 'acme']) {
      const before = await keysOf(keys, tenantId);
      const tokens = await signing(keys, tenantId);
      const { kid = '' } = await verified(tokens[0] ?? '', before);
      const activeKid = await rotate(keys, { immediately: true, tenantId });
      const after = await keysOf(keys, tenantId);
      expect(after.map(({ algorithm, state }) => [algorithm, state])).toEqual([
        ['RS256', KeyState.ACTIVE],
        ['RS256', KeyState.RETIRED],
        ['ES256', KeyState.ACTIVE],
        ['ES256', KeyState.RETIRED],
      ]);
      expect(activeKid).toBe(after[0]?.kid);
      await verified(tokens[0] ?? '', after);
      await keys.api.withdraw({ kid, tenantId }, call());
      expect((await keysOf(keys, tenantId)).map((key) => key.kid)).not.toContain(kid);
    }
  });

  it('has one ring if several processes find only keys for RS256 at once', async () => {
    const database = await testDatabase(migrations);
    await start(database).service.ready();
    await database.query({ name: 'test.as_before', text: 'TRUNCATE keys.algorithm_signing_key' });
    const all = [start(database), start(database), start(database)];
    await Promise.all(all.map((keys) => keys.service.ready()));
    const kids = await Promise.all(
      all.map(async (keys) => {
        const tokens = await signing(keys);
        return (await verified(tokens[0] ?? '', await keysOf(keys))).kid;
      }),
    );
    expect(new Set(kids).size).toBe(1);
  });
});

describe('for a command', () => {
  const command = (database: Database, settings: Record<string, string> = {}) =>
    start(database, settings, {}, { followsSchedule: false });

  it('does not rotate by the schedule of its own settings, but on request', async () => {
    const database = await testDatabase(migrations);
    const keys = start(database);
    await keys.service.ready();
    const own = { TESSERA_KEYS_ROTATION_PERIOD: '1s', TESSERA_KEYS_PUBLISH_AHEAD: '10ms' };
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const asked = command(database, own);
    await asked.service.ready();
    expect((await publicKeysOf(asked)).map((key) => key.state)).toEqual([KeyState.ACTIVE]);
    const activeKid = await rotate(asked, { immediately: true });
    await waitFor(async () => expect((await publicKeysOf(keys))[0]?.kid).toBe(activeKid));
  });

  it('is not ready before a process has made the first key, and makes none itself', async () => {
    const database = await testDatabase(migrations);
    await expect(command(database).service.ready()).rejects.toThrow('There is no signing key yet');
    await start(database).service.ready();
    const keys = command(database);
    await keys.service.ready();
    expect(await publicKeysOf(keys)).toHaveLength(1);
  });
});

describe('the emergency procedures of docs/operations.md', () => {
  const run = (database: Database, text: string, values: string[] = []) =>
    database.query({ name: `test.${text}`.slice(0, 60), text, values });

  it('remove a withdrawn retired key from the key set of every process, and never a key that signs', async () => {
    const database = await testDatabase(migrations);
    const [keys, other] = [start(database), start(database)];
    await Promise.all([keys.service.ready(), other.service.ready()]);
    const leaked = (await publicKeysOf(keys))[0]?.kid ?? '';
    const activeKid = await rotate(keys, { immediately: true });
    expect((await publicKeysOf(keys)).map(({ kid }) => kid)).toEqual([activeKid, leaked]);
    const withdraw = (kid: string) => keys.api.withdraw({ kid }, call());
    await expect(withdraw(activeKid)).rejects.toThrow('Rotate the keys first.');
    await withdraw(leaked);
    expect((await publicKeysOf(keys)).map(({ kid }) => kid)).toEqual([activeKid]);
    await waitFor(async () => expect((await publicKeysOf(other)).map(({ kid }) => kid)).toEqual([activeKid]));
    await expect(withdraw(leaked)).rejects.toThrow('There is no such key.');
  });

  it('start with a new key under a new key-encryption key if all keys were deleted while nothing ran', async () => {
    const database = await testDatabase(migrations);
    const before = start(database);
    await before.service.ready();
    const [former] = await publicKeysOf(before);
    await before.service.close();
    await run(database, 'TRUNCATE keys.signing_key, keys.tenant_signing_key, keys.algorithm_signing_key');
    const after = start(database, { TESSERA_KEYS_KEK: kek() });
    await after.service.ready();
    const { tokens } = await after.as('token').sign({ items: [item] }, call());
    const keys = await publicKeysOf(after);
    await verify(tokens[0] ?? '', keys);
    expect(keys.map(({ kid }) => kid)).not.toContain(former?.kid);
  });
});

describe('faults of the store', () => {
  it('sign and publish from memory while Postgres is unavailable, and reload the keys when it is back', async () => {
    const database = await testDatabase(migrations);
    const { handle, line } = breakable(database);
    const keys = start(handle);
    const other = start(database);
    await Promise.all([keys.service.ready(), other.service.ready()]);
    line.cut = true;
    await new Promise((resolve) => setTimeout(resolve, 200));
    await keys.service.ready();
    const { tokens } = await keys.as('token').sign({ items: [item] }, call());
    await verify(tokens[0] ?? '', await publicKeysOf(keys));
    await expect(rotate(keys)).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });

    const activeKid = await rotate(other, { immediately: true });
    line.cut = false;
    await waitFor(async () => expect((await publicKeysOf(keys))[0]?.kid).toBe(activeKid));
  });

  it('stop signing, but not publishing, if the key was not confirmed for half of the retention', async () => {
    const { handle, line } = breakable(await testDatabase(migrations));
    const clock = fakeClock(Date.now());
    const keys = start(handle, {}, { clock });
    await keys.service.ready();
    line.cut = true;
    await new Promise((resolve) => setTimeout(resolve, 200));
    clock.advance(3.5 * 24 * 3_600_000 + 1);
    await expect(keys.as('token').sign({ items: [item] }, call())).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
    await expect(keys.service.ready()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect(await publicKeysOf(keys)).toHaveLength(1);
  });

  it('make the service unready and temporarily_unavailable, never with an empty key set, before it has read its keys', async () => {
    const { handle, line } = breakable(await testDatabase(migrations));
    line.cut = true;
    const keys = start(handle);
    await expect(keys.service.ready()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    await expect(publicKeysOf(keys)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    await expect(keys.as('token').sign({ items: [item] }, call())).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
    line.cut = false;
    await waitFor(() => keys.service.ready());
    expect(await publicKeysOf(keys)).toHaveLength(1);
  });

  it('include another key-encryption key: not ready, an error with the setting’s name, and no second key', async () => {
    const database = await testDatabase(migrations);
    await start(database).service.ready();
    const stranger = start(database, { TESSERA_KEYS_KEK: kek() });
    await expect(stranger.service.ready()).rejects.toThrow('TESSERA_KEYS_KEK');
    await expect(stranger.as('token').sign({ items: [item] }, call())).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
    expect(await publicKeysOf(stranger)).toHaveLength(1);
  });
});

describe('the settings of the keys service', () => {
  const load = (settings: Record<string, string>) =>
    loadConfig(combine(keysConfig), settings, { known: Object.keys(settings) });

  it('have defaults except for the key-encryption key', () => {
    expect(load({ TESSERA_KEYS_KEK: kek() })).toMatchObject({
      TESSERA_KEYS_ROTATION_PERIOD: 30 * 86_400,
      TESSERA_KEYS_PUBLISH_AHEAD: 86_400,
      TESSERA_KEYS_RELOAD_INTERVAL: 5,
    });
    expect(() => load({})).toThrow('TESSERA_KEYS_KEK is missing');
  });

  it('refuse a key-encryption key that is not 32 bytes, without printing it', () => {
    const value = systemRandom.bytes(16).toString('base64');
    expect(() => load({ TESSERA_KEYS_KEK: value })).toThrow('TESSERA_KEYS_KEK: expected 32 bytes in base64');
    expect(() => load({ TESSERA_KEYS_KEK: value })).not.toThrow(value);
  });

  it('refuse a publication lead that is not shorter than the rotation period', () => {
    const settings = {
      TESSERA_KEYS_KEK: kek(),
      TESSERA_KEYS_ROTATION_PERIOD: '1h',
      TESSERA_KEYS_PUBLISH_AHEAD: '1h',
    };
    expect(() => load(settings)).toThrow('must be shorter');
  });
});

describe('the keys of a tenant with an issuer of its own', () => {
  it('sign for that tenant alone, are published for it alone, and rotate and are withdrawn by themselves.', async () => {
    const database = await testDatabase(migrations);
    const keys = start(database);
    await keys.service.ready();
    const publicKeys = async (tenantId: string) =>
      (await keys.as('gateway').getPublicKeys({ ...rs256, tenantId }, call())).keys;
    const kids = async (tenantId: string) => (await publicKeys(tenantId)).map(({ kid }) => kid);
    const sign = async (tenantId: string) => {
      const answer = await keys.as('token').sign({ items: [item], tenantId }, call());
      expect(answer.tenantId).toBe(tenantId);
      return answer.tokens[0] ?? '';
    };
    const signer = async (tenantId: string) => decodeProtectedHeader(await sign(tenantId)).kid;
    const everyone = ['', 'acme', 'globex'];
    const before = await Promise.all(everyone.map(kids));
    expect(new Set(before.flat()).size).toBe(3);
    for (const tenantId of everyone) await verify(await sign(tenantId), await publicKeys(tenantId));

    const [, [acme = ''] = []] = before;
    const activeKid = await rotate(keys, { immediately: true, tenantId: 'acme' });
    expect(await signer('acme')).toBe(activeKid);
    expect(await kids('acme')).toEqual([activeKid, acme]);
    await expect(keys.api.withdraw({ kid: acme, tenantId: 'globex' }, call())).rejects.toMatchObject({
      code: 5,
    });
    await keys.api.withdraw({ kid: acme, tenantId: 'acme' }, call());
    expect(await kids('acme')).toEqual([activeKid]);
    expect([await kids(''), await kids('globex')]).toEqual([before[0], before[2]]);
  });

  it('are one set for processes that generate the first at once, and follow each other.', async () => {
    const database = await testDatabase(migrations);
    const processes = [start(database), start(database), start(database)];
    await processes[0]?.service.ready();
    const kid = async (keys: ReturnType<typeof start>) => {
      const { tokens } = await keys.as('token').sign({ items: [item], tenantId: 'acme' }, call());
      return decodeProtectedHeader(tokens[0] ?? '').kid;
    };
    expect(new Set(await Promise.all(processes.map(kid))).size).toBe(1);
    const activeKid = await rotate(start(database), { immediately: true, tenantId: 'acme' });
    await waitFor(async () =>
      expect(await Promise.all(processes.map(kid))).toEqual([activeKid, activeKid, activeKid]),
    );
  });

  it('cannot be used for another tenant, even if they are moved there in the database.', async () => {
    const database = await testDatabase(migrations);
    const keys = start(database);
    await keys.as('token').sign({ items: [item], tenantId: 'acme' }, call());
    await database.query({
      name: 'test.move_key',
      text: `UPDATE keys.tenant_signing_key SET tenant_id = 'globex'`,
    });
    await expect(keys.as('token').sign({ items: [item], tenantId: 'globex' }, call())).rejects.toThrow();
  });

  /** Twenty tenants whose keys are in memory, and the handle through which their keys are read. */
  async function twentyTenants(settings: Record<string, string> = {}) {
    const database = await testDatabase(migrations);
    const clock = fakeClock(Date.now());
    const seen = { loads: 0, transactions: 0, most: 0 };
    const handle: Database = {
      ...database,
      query(statement) {
        if (statement.name === 'keys.tenant_signing_key.load') seen.loads += 1;
        return database.query(statement);
      },
      async transaction(work) {
        seen.transactions += 1;
        seen.most = Math.max(seen.most, seen.transactions);
        try {
          return await database.transaction(work);
        } finally {
          seen.transactions -= 1;
        }
      },
    };
    const keys = start(handle, { TESSERA_KEYS_RELOAD_INTERVAL: '1m', ...settings }, { clock });
    const tenants = Array.from({ length: 20 }, (_, index) => `tenant-${index}`);
    const signForAll = () =>
      Promise.all(tenants.map((tenantId) => keys.as('token').sign({ items: [item], tenantId }, call())));
    await keys.service.ready();
    await signForAll();
    return { database, keys, clock, seen, tenants, signForAll };
  }

  it('are loaded again in one statement for all tenants in use.', async () => {
    const { clock, seen, signForAll } = await twentyTenants();
    const before = seen.loads;
    await signForAll();
    expect(seen.loads).toBe(before);
    clock.advance(60_000);
    await signForAll();
    expect(seen.loads).toBe(before + 1);
  });

  it('rotate one tenant after the other if many are due at once, and no token waits for it.', async () => {
    const settings = { TESSERA_KEYS_ROTATION_PERIOD: '2d', TESSERA_KEYS_PUBLISH_AHEAD: '1d' };
    const { database, keys, clock, seen, tenants, signForAll } = await twentyTenants(settings);
    await database.query({
      name: 'test.age_tenants',
      text: `UPDATE keys.tenant_signing_key SET activated_at = activated_at - interval '1 day'`,
    });
    seen.most = 0;
    clock.advance(60_000);
    await signForAll();
    const published = async (tenantId: string) => {
      const answer = await keys.as('gateway').getPublicKeys({ ...rs256, tenantId }, call());
      return answer.keys.length;
    };
    await waitFor(async () =>
      expect(await Promise.all(tenants.map(published))).toEqual(tenants.map(() => 2)),
    );
    expect(seen.most).toBe(1);
  });

  it('keep signing from memory while the database is unavailable', async () => {
    const { handle, line } = breakable(await testDatabase(migrations));
    const keys = start(handle);
    const sign = () => keys.as('token').sign({ items: [item], tenantId: 'acme' }, call());
    await keys.service.ready();
    await sign();
    line.cut = true;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await sign()).tokens).toHaveLength(1);
    await expect(keys.as('token').sign({ items: [item], tenantId: 'globex' }, call())).rejects.toThrow();
  });
});
