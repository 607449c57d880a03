import { generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { credentials, loadPackageDefinition, type ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import {
  clientCredentials as accessTokens,
  createIntrospector,
  type Introspector,
  type IntrospectorOptions,
  type Revocation,
} from '@tessera/introspection-client';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { billingAudience, ordersAudience, people } from '../../harness/declared-state.ts';
import { eventually } from '@tessera/test-kit/provision';
import { claimsOf, CuttableProxy, headerOf, revoke, tokensOf } from '@tessera/test-client';
import { clientCredentials, codeFor, redeem } from '../../harness/flows.ts';
import { briefSecret, introspectorSecret, startReplicated, type Replicated } from './introspection-set-up.ts';

let system: Replicated;
const cleanUps: (() => Promise<void> | void)[] = [];
beforeAll(async () => {
  system = await startReplicated({ replicas: 3, running: 2 });
});
afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return;
  const refused = system
    .output()
    .split('\n')
    .filter((line) => /call refused|"level":"(?:warn|error)"/.test(line));
  process.stdout.write(`${refused.slice(-60).join('\n')}\n`);
});
afterAll(async () => {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  await system?.stop();
});

const addresses = (ports: readonly number[]) => `ipv4:${ports.map((port) => `127.0.0.1:${port}`).join(',')}`;
const tokenPorts = () => system.tokens.map(({ port }) => port);

/** What is not about limits of time waits for a busy machine. */
const patienceMs = 30_000;

/** By certificate, over every replica there may be. */
function certified(options: Partial<IntrospectorOptions> = {}, name = 'introspector'): Introspector {
  const { cert = '', key = '' } = system.files.certificates[name] ?? {};
  const introspector = createIntrospector({
    target: addresses(tokenPorts()),
    credentials: {
      tls: { caFile: system.files.ca, certificateFile: cert, privateKeyFile: key, serverName: 'token' },
    },
    cache: false,
    watch: false,
    timeoutMs: patienceMs,
    ...options,
  });
  cleanUps.push(() => introspector.close());
  return introspector;
}

/** By access token, without a certificate. */
function byAccessToken(options: Partial<IntrospectorOptions> = {}): Introspector {
  const introspector = createIntrospector({
    target: addresses(system.tokens.slice(0, 2).map(({ introspectionPort }) => introspectionPort)),
    credentials: {
      tls: { caFile: system.files.ca, serverName: 'token' },
      accessToken: accessTokens({
        tokenEndpoint: `${system.issuer}/token`,
        clientId: 'acme-introspector',
        clientSecret: introspectorSecret,
      }),
    },
    cache: false,
    watch: false,
    timeoutMs: patienceMs,
    ...options,
  });
  cleanUps.push(() => introspector.close());
  return introspector;
}

const signedIn = async () => tokensOf(await redeem(system.http, await codeFor(system.person())));
const serviceToken = async (overrides = {}) =>
  tokensOf(await clientCredentials(system.http, 'acme-service', 'contract', overrides)).accessToken;

/** Asks over HTTP; with credentials on behalf of that client. */
async function overHttp(token: string, basic?: readonly [string, string]): Promise<Record<string, unknown>> {
  const answer = await system.http.ask('POST', '/introspect', {
    form: { token },
    ...(basic !== undefined && { basic }),
  });
  expect(answer.status).toBe(200);
  return answer.json();
}

/** The answer of the introspector in the members of RFC 7662 §2.2. */
async function overGrpc(introspector: Introspector, token: string): Promise<Record<string, unknown>> {
  const answer = await introspector.introspect(token);
  if (!answer.active) return { active: false };
  const { sub, clientId, scopes, exp, iat, aud, iss, tenantId, kind, authTime, acr, username } = answer;
  return {
    active: true,
    sub,
    client_id: clientId,
    scope: scopes.join(' '),
    exp,
    iat,
    iss,
    tenant_id: tenantId,
    ...(aud !== '' && { aud }),
    ...(kind === 'access_token' && { token_type: 'Bearer' }),
    ...(authTime !== 0 && { auth_time: authTime }),
    ...(acr !== '' && { acr }),
    ...(username !== '' && { username }),
  };
}

describe('introspection by two protocols', () => {
  const foreignKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

  /** A token of the same claims, changed, under a key that is not ours. */
  function forged(token: string, changes: object): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const text = `${part(headerOf(token))}.${part({ ...claimsOf(token), ...changes })}`;
    return `${text}.${sign('sha256', Buffer.from(text), foreignKey).toString('base64url')}`;
  }

  function spoiled(token: string, at: number, character: string): string {
    const index = at % token.length;
    return token.slice(0, index) + character + token.slice(index + 1);
  }

  it('never disagrees about any token: good, spoiled, expired, revoked, of another tenant, of another kind, forged, random', async () => {
    const { http } = system;
    const person = await signedIn();
    const revoked = await signedIn();
    await revoke(http, revoked.refreshToken);
    const globex = tokensOf(
      await redeem(
        http,
        await codeFor(
          system.person(),
          'globex-web',
          { scope: 'openid offline_access stock.read' },
          { username: 'eve', password: 'jacquard-loom-1804-eve' },
        ),
      ),
    );
    const brief = tokensOf(
      await clientCredentials(http, 'acme-brief', 'contract', { clientSecret: briefSecret }),
    ).accessToken;
    const service = await serviceToken();
    const billing = await serviceToken({ scope: 'billing.read', resource: billingAudience });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const real = [person, revoked, globex]
      .flatMap(({ accessToken, refreshToken, idToken }) => [accessToken, refreshToken, idToken])
      .concat(brief, service, billing)
      .filter((token) => token !== undefined);
    const token = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...real) },
      {
        weight: 4,
        arbitrary: fc
          .tuple(fc.constantFrom(...real), fc.nat(), fc.constantFrom(...'Aaz09-_.=+/ é'))
          .map(([good, at, character]) => spoiled(good, at, character)),
      },
      {
        weight: 1,
        arbitrary: fc
          .tuple(
            fc.constantFrom(service, person.accessToken),
            fc.record({ sub: fc.string(), exp: fc.integer() }),
          )
          .map(([good, changes]) => forged(good, changes)),
      },
      { weight: 1, arbitrary: fc.string({ minLength: 1 }).filter((text) => text.isWellFormed()) },
      {
        weight: 1,
        arbitrary: fc.string({ minLength: 1 }).map((text) => `tr_${Buffer.from(text).toString('base64url')}`),
      },
    );
    const everyone = certified();
    const client = byAccessToken();
    const basic = ['acme-introspector', introspectorSecret] as const;
    const seen = { active: 0, inactive: 0 };
    await fc.assert(
      fc.asyncProperty(token, async (text) => {
        const [all, own] = await Promise.all([overHttp(text), overHttp(text, basic)]);
        expect(await overGrpc(everyone, text)).toEqual(all);
        expect(await overGrpc(client, text)).toEqual(own);
        seen[all['active'] === true ? 'active' : 'inactive'] += 1;
      }),
      { numRuns: 300 },
    );
    expect(seen.active).toBeGreaterThan(30);
    expect(seen.inactive).toBeGreaterThan(30);
  });

  it('answers a batch with what it answers to single questions', async () => {
    const tokens = [await serviceToken(), 'bad', (await signedIn()).refreshToken ?? '', await serviceToken()];
    const introspector = certified();
    const together = await Promise.all(tokens.map((token) => introspector.introspect(token)));
    for (const [index, token] of tokens.entries()) {
      expect(together[index]).toEqual(await introspector.introspect(token));
    }
    expect(together.map(({ active }) => active)).toEqual([true, false, true, true]);
  });
});

describe('who may introspect', () => {
  it('is a client with an access token for it, which sees what it answers for', async () => {
    const introspector = byAccessToken();
    const orders = await serviceToken();
    const billing = await serviceToken({ scope: 'billing.read', resource: billingAudience });
    expect(await introspector.introspect(orders)).toMatchObject({ active: true, aud: ordersAudience });
    expect(await introspector.introspect(billing)).toEqual({ active: false });
    expect(await introspector.introspect((await signedIn()).refreshToken ?? '')).toEqual({ active: false });
  });

  it('is not identified without proof, nor with any other token of ours', async () => {
    const open = (accessToken?: string) => {
      const introspector = createIntrospector({
        target: `127.0.0.1:${system.tokens[0]?.introspectionPort}`,
        credentials: {
          tls: { caFile: system.files.ca, serverName: 'token' },
          ...(accessToken !== undefined && { accessToken: () => accessToken }),
        },
        watch: false,
      });
      cleanUps.push(() => introspector.close());
      return introspector.introspect('anything');
    };
    const person = await signedIn();
    await expect(open()).rejects.toMatchObject({ code: 'unauthenticated' });
    for (const token of ['garbage', person.refreshToken, person.idToken]) {
      await expect(open(token)).rejects.toMatchObject({ code: 'unauthenticated' });
    }
    for (const token of [person.accessToken, await serviceToken()]) {
      await expect(open(token)).rejects.toMatchObject({ code: 'permission_denied' });
    }
  });

  it('is no process by its certificate whose business it is not, and none without one on the inner listener', async () => {
    await expect(certified({}, 'device').introspect('anything')).rejects.toMatchObject({
      code: 'permission_denied',
    });
    const outside = createIntrospector({
      target: `127.0.0.1:${system.tokens[0]?.port}`,
      credentials: {
        tls: { caFile: system.files.ca, serverName: 'token' },
        accessToken: () => serviceToken(),
      },
      watch: false,
      timeoutMs: 1_000,
    });
    cleanUps.push(() => outside.close());
    await expect(outside.introspect('anything')).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('may be a stock client that has the proto and nothing else of ours', async () => {
    const definition = loadSync('tessera/token/v1/token.proto', {
      includeDirs: ['proto'],
      longs: Number,
      enums: String,
    });
    const { tessera } = loadPackageDefinition(definition) as unknown as {
      tessera: { token: { v1: { IntrospectionService: new (...given: unknown[]) => StockClient } } };
    };
    const read = (file = '') => readFileSync(file);
    const { cert, key } = system.files.certificates['introspector'] ?? {};
    const client = new tessera.token.v1.IntrospectionService(
      `localhost:${system.tokens[0]?.port}`,
      credentials.createSsl(read(system.files.ca), read(key), read(cert)),
    );
    cleanUps.push(() => client.close());
    const token = await serviceToken();
    const one = await new Promise((resolve, reject) =>
      client.introspect({ token }, (error, answer) => (error === null ? resolve(answer) : reject(error))),
    );
    expect(one).toMatchObject({ active: true, clientId: 'acme-service', kind: 'TOKEN_KIND_ACCESS_TOKEN' });
    const many = await new Promise((resolve, reject) =>
      client.batchIntrospect({ tokens: [token, 'bad'] }, (error, answer) =>
        error === null ? resolve(answer) : reject(error),
      ),
    );
    expect(many).toMatchObject({ outcomes: [{ result: { active: true } }, { result: {} }] });
    const first = await new Promise((resolve, reject) => {
      const stream = client.watchRevocations({});
      stream.on('data', (message) => {
        resolve(message);
        stream.cancel();
      });
      stream.on('error', reject);
    });
    expect(first).toMatchObject({ cursor: expect.stringMatching(/^1\./) as string });
  });
});

interface StockClient {
  introspect(request: object, done: (error: ServiceError | null, answer: unknown) => void): void;
  batchIntrospect(request: object, done: (error: ServiceError | null, answer: unknown) => void): void;
  watchRevocations(request: object): {
    on(event: string, listener: (value: unknown) => void): void;
    cancel(): void;
  };
  close(): void;
}

describe('the watch of revocations', () => {
  async function watching(options: Partial<IntrospectorOptions> = {}) {
    const introspector = certified({ watch: {}, cache: {}, ...options });
    const heard: (Revocation & { at: number })[] = [];
    introspector.onRevocation((revocation) => heard.push({ ...revocation, at: performance.now() }));
    await eventually('the watch is guarded', async () => introspector.guarded);
    return { introspector, heard };
  }

  it('reaches every caller at every replica within 250 ms of the revocation', async () => {
    const watchers = await Promise.all(
      [0, 1, 0, 1].map((index) => watching({ target: addresses([system.tokens[index]?.port ?? 0]) })),
    );
    const delays: number[] = [];
    for (let round = 1; round <= 10; round += 1) {
      const { refreshToken } = await signedIn();
      expect((await revoke(system.http, refreshToken)).status).toBe(200);
      const revokedAt = performance.now();
      await eventually('all have heard', async () => watchers.every(({ heard }) => heard.length === round));
      delays.push(...watchers.map(({ heard }) => (heard.at(-1)?.at ?? Infinity) - revokedAt));
    }
    expect(Math.max(...delays)).toBeLessThan(250);
    process.stdout.write(
      `revocation heard after at most ${Math.max(...delays).toFixed(0)} ms, on average ${(delays.reduce((sum, delay) => sum + delay, 0) / delays.length).toFixed(0)} ms\n`,
    );
  });

  it('lets a caller be stricter than the contract', async () => {
    const lenient = await watching();
    const strict = await watching({ watch: { onRevocation: 'refuse' } });
    // Revocations have a resolution of one second: a token issued in the same second would count as older.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const { accessToken, refreshToken } = await signedIn();
    for (const { introspector } of [lenient, strict]) {
      expect(await introspector.introspect(accessToken)).toMatchObject({ active: true });
    }
    const before = strict.heard.length;
    await revoke(system.http, refreshToken);
    await eventually(
      'the end is heard',
      async () => strict.heard.length > before && lenient.heard.length > 0,
    );
    expect(await lenient.introspector.introspect(accessToken)).toMatchObject({ active: true });
    expect(await strict.introspector.introspect(accessToken)).toEqual({ active: false });
  });

  it('tells a caller that starts later what ended before, so that it refuses what all others refuse', async () => {
    const early = await watching({ watch: { onRevocation: 'refuse' } });
    const bob = system.person();
    const code = await codeFor(bob, 'acme-web', {}, people.bob);
    const { accessToken } = tokensOf(await redeem(system.http, code));
    await bob.get('/logout?client_id=acme-web');
    await system.apply({ bobStatus: 'disabled' });
    await system.apply({});
    const late = await watching({ watch: { onRevocation: 'refuse' } });
    const { sub } = claimsOf(accessToken);
    for (const { introspector, heard } of [early, late]) {
      const kinds = () => heard.filter((one) => one.sub === sub).map(({ kind }) => kind);
      await eventually('both ends', async () =>
        (['session', 'subject'] as const).every((kind) => kinds().includes(kind)),
      );
      expect(await introspector.introspect(accessToken)).toEqual({ active: false });
    }
    expect(await certified().introspect(accessToken)).toMatchObject({ active: true });
  });

  it('tells of signing out, and of users, applications and tenants that are disabled', async () => {
    const { heard } = await watching();
    const person = system.person();
    await codeFor(person);
    await person.get('/logout?client_id=acme-web');
    await eventually('the session', async () => heard.some(({ kind }) => kind === 'session'));
    await system.apply({ bobStatus: 'disabled', serviceStatus: 'disabled', globexStatus: 'disabled' });
    await eventually('all ends', async () => heard.length === 4);
    await system.apply({});
    expect(heard.map(({ kind, tenantId, clientId }) => `${kind} ${tenantId} ${clientId}`).toSorted()).toEqual(
      ['application acme acme-service', 'session acme ', 'subject acme ', 'tenant globex '],
    );
  });

  it.each(['refuse', 'silent'] as const)(
    'is taken up by a caller that was cut off (%s) and misses nothing',
    async (how) => {
      const proxy = new CuttableProxy('127.0.0.1', system.tokens[0]?.port ?? 0);
      await proxy.start();
      cleanUps.push(() => proxy.stop());
      const { introspector, heard } = await watching({ target: `127.0.0.1:${proxy.port}` });
      const families = async (count: number) => {
        for (let time = 0; time < count; time += 1)
          await revoke(system.http, (await signedIn()).refreshToken);
      };
      await families(2);
      await eventually('the first two', async () => heard.length === 2);
      proxy.cut(how);
      await families(3);
      await system.apply({ bobStatus: 'locked' });
      await system.apply({});
      await new Promise((resolve) => setTimeout(resolve, cutOffMs));
      await eventually('the caller knows', async () => !introspector.guarded);
      expect(heard).toHaveLength(2);
      await families(1);
      proxy.heal();
      await eventually('everything it missed', async () => heard.length === 7);
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(heard.map(({ kind }) => kind).toSorted()).toEqual([
        ...Array.from({ length: 6 }, () => 'refresh_family'),
        'subject',
      ]);
      expect(new Set(heard.map(({ familyId }) => familyId)).size).toBe(7);
    },
    180_000,
  );
});

/** How long a caller is cut off. */
const cutOffMs = 3_000;

describe('replicas', () => {
  it('come and go without a failed call: one is killed, another takes its traffic, the first one too is killed', async () => {
    const [first, second, third] = system.tokens;
    if (first === undefined || second === undefined || third === undefined)
      throw new Error('too few replicas');
    const calls = { done: 0 };
    const onCall = () => void (calls.done += 1);
    // Each has connections of its own and one call at a time, so that many are under way when a replica dies.
    const introspectors = Array.from({ length: 24 }, () =>
      certified({ metrics: { onCall }, timeoutMs: 20_000 }),
    );
    const [introspector = certified()] = introspectors;
    const token = await serviceToken();
    const failures: unknown[] = [];
    let loading = true;
    const load = async (introspector: Introspector) => {
      while (loading) {
        const answer = await introspector.introspect(token).catch((error: unknown) => ({ error }));
        // Leaves processor time to the replicas: on a busy machine pings would get no answer in time.
        await new Promise((resolve) => setTimeout(resolve, 20));
        if ('active' in answer && answer.active) continue;
        failures.push(answer);
        loading = failures.length < 10;
      }
    };
    const running = Promise.all(introspectors.map(load));
    const more = async (count: number) => {
      const goal = calls.done + count;
      while (calls.done < goal && failures.length === 0) {
        const { done } = calls;
        await eventually('calls go on', async () => calls.done > done || failures.length > 0);
      }
      expect(failures).toEqual([]);
    };
    try {
      await more(1_000);
      await first.process.kill();
      await more(1_000);
      await third.start();
      // The address is known, so that the new replica is found when it is tried next.
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      await second.process.kill();
      await more(1_000);
      expect(third.process.running && !first.process.running && !second.process.running).toBe(true);
    } finally {
      loading = false;
      await running;
    }
    expect(failures).toEqual([]);
    await Promise.all([first.start(), second.start()]);
    await eventually('the first ones are back', async () => (await introspector.introspect(token)).active);
  });

  it('do not print a token', async () => {
    const printed = system.output();
    for (const secret of system.http.seen) expect(printed.includes(secret)).toBe(false);
    for (const secret of [introspectorSecret, briefSecret]) expect(printed.includes(secret)).toBe(false);
  });
});
