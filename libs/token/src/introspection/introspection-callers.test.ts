import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { local } from '@tessera/rpc';
import { Status } from '@tessera/proto-gen/directory';
import { IntrospectionService, TokenKind } from '@tessera/proto-gen/token';
import { parseCertificateClients } from './certificate-clients.ts';
import { billing, orders } from '../testing/declared-records.ts';
import { asPrincipal } from '../testing/principal.ts';
import { signedToken, testKey } from '../testing/fake-keys.ts';
import { call, caller, claimsOf, codeOf, credentialsOf, world, type World } from '../testing/world.ts';

let on: World;
beforeAll(async () => {
  on = await world({
    settings: {
      TESSERA_INTROSPECTION_CERTIFICATE_CLIENTS: `introspector.orders=acme ${orders},spiffe://acme/introspector=acme,introspector.all=*`,
    },
  });
});
afterAll(() => on.close());

const introspector = () => local(IntrospectionService, on.service, 'introspector', on.runtime.log);
const as = (...principal: Parameters<typeof asPrincipal> extends [unknown, ...infer P] ? P : never) =>
  local(IntrospectionService, asPrincipal(on.service, ...principal), 'introspector', on.runtime.log);

describe('a batch of introspections', () => {
  const ask = async (tokens: string[]) => (await introspector().batchIntrospect({ tokens }, call())).outcomes;

  it('answers in order, each token like a single introspection', async () => {
    const { accessToken, refreshToken, idToken } = await on.signIn();
    const header = { alg: 'RS256', kid: on.key.kid, typ: 'at+jwt' };
    const expired = signedToken(on.key, header, { ...claimsOf(accessToken), exp: 1 });
    const forged = signedToken(testKey(on.key.kid), header, claimsOf(accessToken));
    const tokens = [
      '',
      accessToken,
      'garbage',
      refreshToken,
      idToken,
      expired,
      forged,
      accessToken,
      '€'.repeat(9),
    ];
    const outcomes = await ask(tokens);
    expect(outcomes).toHaveLength(tokens.length);
    for (const [index, { outcome }] of outcomes.entries()) {
      const token = tokens[index] ?? '';
      const single = token === '' ? { active: false } : await introspector().introspect({ token }, call());
      expect(outcome).toMatchObject({ case: 'result', value: { active: single.active } });
      expect(outcome.value).toMatchObject(single);
    }
    expect(outcomes.map(({ outcome }) => outcome.case === 'result' && outcome.value.active)).toEqual([
      false,
      true,
      false,
      true,
      false,
      false,
      false,
      true,
      false,
    ]);
  });

  it('accepts a thousand tokens and refuses one more', async () => {
    const { accessToken } = await on.signIn();
    const tokens = Array.from({ length: 1000 }, (_, index) =>
      index % 2 === 0 ? accessToken : `bad-${index}`,
    );
    const active = (await ask(tokens)).map(
      ({ outcome }) => outcome.case === 'result' && outcome.value.active,
    );
    expect(active).toEqual(tokens.map((token) => token === accessToken));
    await expect(ask([...tokens, 'one more'])).rejects.toThrow('At most 1000 tokens');
    expect(await ask([])).toEqual([]);
  });

  it('reports a failure only for the tokens that it cannot introspect now', async () => {
    const { accessToken, refreshToken } = await on.signIn();
    await ask([accessToken]);
    await on.directory.changeApplication('web', (record) => (record.status = Status.ACTIVE));
    on.directory.unavailable = true;
    try {
      const [first, second] = await ask([refreshToken, accessToken]);
      expect(first?.outcome).toMatchObject({ case: 'failure', value: { code: 'temporarily_unavailable' } });
      expect(second?.outcome).toMatchObject({ case: 'result', value: { active: true } });
    } finally {
      on.directory.unavailable = false;
    }
  });
});

describe('the caller of an introspection', () => {
  it('sees, as a client, its own tokens and the tokens for its API resources in its tenant', async () => {
    const { accessToken, refreshToken } = await on.signIn();
    const seen = async (id: string) => {
      const outcomes = await as({ kind: 'client', id }).batchIntrospect(
        { tokens: [accessToken, refreshToken] },
        call(),
      );
      return outcomes.outcomes.map(({ outcome }) => outcome.case === 'result' && outcome.value.active);
    };
    expect(await seen('web')).toEqual([true, true]);
    expect(await seen('orders-api')).toEqual([true, false]);
    for (const foreign of ['other', 'service', 'globex-web'])
      expect(await seen(foreign)).toEqual([false, false]);
    expect(await codeOf(seen('unknown'))).toBe('invalid_token');
    await on.directory.changeApplication('orders-api', (record) => (record.status = Status.DISABLED));
    expect(await codeOf(seen('orders-api'))).toBe('invalid_token');
    await on.directory.changeApplication('orders-api', (record) => (record.status = Status.ACTIVE));
    const audited = (await on.events()).filter(({ event }) => event === 'introspect.denied');
    expect(audited.map(({ record }) => record['clientId'])).toContain('globex-web');
  });

  it('sees, by its certificate, the configured tenants and audiences; all other tokens are inactive', async () => {
    const { accessToken, refreshToken } = await on.signIn();
    const service = await on.exchange('service', { grantType: 'client_credentials', resource: billing });
    const tokens = [accessToken, refreshToken, service.accessToken];
    const seen = async (id: string) => {
      const { outcomes } = await as({ kind: 'certificate', id }).batchIntrospect({ tokens }, call());
      return outcomes.map(({ outcome }) => outcome.case === 'result' && outcome.value.active);
    };
    expect(await seen('introspector.orders')).toEqual([true, false, false]);
    expect(await seen('spiffe://acme/introspector')).toEqual([true, true, true]);
    expect(await seen('introspector.all')).toEqual([true, true, true]);
    expect(await seen('introspector.unknown')).toEqual([false, false, false]);
    const unseen = await as({ kind: 'certificate', id: 'introspector.unknown' }).introspect(
      { token: accessToken },
      call(),
    );
    const { $typeName: _, ...fields } = unseen;
    expect(
      Object.values(fields).filter((value) => value && !(Array.isArray(value) && value.length === 0)),
    ).toEqual([]);
  });

  it('cannot forward credentials of clients unless it is the gateway', async () => {
    const { accessToken: token } = await on.signIn();
    const asked = introspector().introspect({ token, credentials: credentialsOf('web'), caller }, call());
    await expect(asked).rejects.toThrow('Only the gateway');
  });

  it('may cache an access token for a limited time, at most until it expires, and a refresh token not at all', async () => {
    const { accessToken, refreshToken } = await on.signIn();
    const ask = (token: string) => introspector().introspect({ token }, call());
    expect(await ask(accessToken)).toMatchObject({ kind: TokenKind.ACCESS_TOKEN, cacheSeconds: 60 });
    expect(await ask(refreshToken)).toMatchObject({ kind: TokenKind.REFRESH_TOKEN, cacheSeconds: 0 });
    const claims = { ...claimsOf(accessToken), exp: Math.floor(on.clock.now() / 1000) + 20 };
    const short = signedToken(on.key, { alg: 'RS256', kid: on.key.kid, typ: 'at+jwt' }, claims);
    expect((await ask(short)).cacheSeconds).toBeLessThan(20);
  });
});

describe('an access token that authenticates an introspecting client', () => {
  const bearer = () => {
    const route = on.service.routes.find(({ service }) => service.typeName === IntrospectionService.typeName);
    if (route?.bearer === undefined) throw new Error('access tokens are not taken');
    return route.bearer;
  };
  const judge = (token: string) => bearer()(token, call());

  it('is one of the client credentials grant with the scope tokens.introspect', async () => {
    const { accessToken } = await on.exchange('introspecting', { grantType: 'client_credentials' });
    const { aud, iss, exp } = claimsOf(accessToken);
    expect(aud).toBe(iss);
    expect(await judge(accessToken)).toEqual({
      caller: 'introspector',
      principal: { kind: 'client', id: 'introspecting', expiresAt: exp },
      scopes: ['tokens.introspect'],
    });
  });

  it('is no other token of this server and no imitation', async () => {
    const { accessToken, refreshToken, idToken } = await on.signIn();
    expect(await codeOf(judge(accessToken))).toBe('insufficient_scope');
    for (const other of [refreshToken, idToken, 'garbage'])
      expect(await codeOf(judge(other))).toBe('invalid_token');
    const good = claimsOf(
      (await on.exchange('introspecting', { grantType: 'client_credentials' })).accessToken,
    );
    const header = { alg: 'RS256', kid: on.key.kid, typ: 'at+jwt' };
    for (const changed of [
      { aud: orders },
      { sub: 'ada' },
      { client_id: 'unknown', sub: 'unknown' },
      { exp: 1 },
    ]) {
      expect(await codeOf(judge(signedToken(on.key, header, { ...good, ...changed })))).toBe('invalid_token');
    }
    expect(await codeOf(judge(signedToken(testKey(on.key.kid), header, good)))).toBe('invalid_token');
  });

  it('is no longer accepted if the client is disabled or has lost the scope, or if keys is unavailable', async () => {
    const { accessToken } = await on.exchange('introspecting', { grantType: 'client_credentials' });
    await on.directory.changeApplication('introspecting', (record) => (record.status = Status.DISABLED));
    expect(await codeOf(judge(accessToken))).toBe('invalid_token');
    await on.directory.changeApplication('introspecting', (record) => {
      record.status = Status.ACTIVE;
      record.scopes = [];
    });
    expect(await codeOf(judge(accessToken))).toBe('insufficient_scope');
    on.directory.unavailable = true;
    await on.directory.changeApplication('introspecting', () => undefined);
    expect(await codeOf(judge(accessToken))).toBe('temporarily_unavailable');
    on.directory.unavailable = false;
  });
});

describe('the setting of certificate clients', () => {
  it('is parsed from its entries', () => {
    expect(parseCertificateClients([])).toEqual(new Map());
    expect(
      parseCertificateClients([
        `introspector.a=acme;globex ${orders} ${billing}`,
        'spiffe://x/introspector=*',
        'b=acme',
      ]),
    ).toEqual(
      new Map([
        ['introspector.a', { tenants: ['acme', 'globex'], audiences: [orders, billing] }],
        ['spiffe://x/introspector', { tenants: [], audiences: [] }],
        ['b', { tenants: ['acme'], audiences: [] }],
      ]),
    );
  });

  it.each(['introspector', '=acme', 'a=', 'a=;acme', 'a=acme,', 'a=acme=b'])(
    'are not made of "%s"',
    (entry) => {
      expect(parseCertificateClients(entry === 'a=acme,' ? ['a=acme', 'a=acme'] : [entry])).toBeUndefined();
    },
  );
});
