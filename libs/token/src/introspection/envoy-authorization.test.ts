import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Authorization, type CheckResponse } from '@tessera/proto-gen/envoy';
import type { HeaderValueOption } from '@tessera/proto-gen/envoy-headers';
import { local, type Principal } from '@tessera/rpc';
import { billing, orders } from '../testing/declared-records.ts';
import { asPrincipal } from '../testing/principal.ts';
import { addUmbra, umbraIssuer, umbraService } from '../testing/umbra.ts';
import { call, world, type World } from '../testing/world.ts';

let on: World;
beforeAll(async () => {
  on = await world({
    settings: {
      TESSERA_INTROSPECTION_CERTIFICATE_CLIENTS: `introspector.envoy=acme ${orders},introspector.all=*`,
    },
  });
});
afterAll(() => on.close());

type Demand = Record<string, string>;
type Identity = Principal | 'shared token';

/** Asks as Envoy does whose certificate may see the tokens for the orders API. */
function ask(
  headers: Record<string, string>,
  contextExtensions: Demand,
  as: Identity = { kind: 'certificate', id: 'introspector.envoy' },
) {
  const service = as === 'shared token' ? on.service : asPrincipal(on.service, as);
  const request = { attributes: { request: { http: { headers } }, contextExtensions } };
  return local(Authorization, service, 'introspector', on.runtime.log).check(request, call());
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const valuesOf = (headers: readonly HeaderValueOption[]): Record<string, string> =>
  Object.fromEntries(headers.map(({ header }) => [header?.key ?? '', header?.value ?? '']));

/** What the client gets: the status and, by name, the headers. */
function denialOf({ status, httpResponse }: CheckResponse) {
  if (httpResponse.case !== 'deniedResponse') throw new Error('the request may pass');
  expect(status?.code).toBe(7);
  const { value } = httpResponse;
  const headers = valuesOf(value.headers);
  return { status: value.status?.code, challenge: headers['www-authenticate'], headers, body: value.body };
}

describe('envoy.service.auth.v3.Authorization/Check', () => {
  it('lets a request pass and replaces or removes every identity header', async () => {
    const { accessToken } = await on.signIn();
    const demand = { audience: orders, scope: 'orders.read', tenant: 'acme' };
    const { status, httpResponse } = await ask(bearer(accessToken), demand);
    expect(status?.code).toBe(0);
    if (httpResponse.case !== 'okResponse') throw new Error('the request may not pass');
    const { headers, headersToRemove } = httpResponse.value;
    expect(headers.map(({ appendAction }) => appendAction)).toEqual(headers.map(() => 2));
    const set = valuesOf(headers);
    expect(set).toMatchObject({
      'x-auth-subject': 'ada',
      'x-auth-client-id': 'web',
      'x-auth-tenant-id': 'acme',
    });
    const all = [...Object.keys(set), ...headersToRemove].toSorted();
    expect(all).toEqual([
      'x-auth-client-id',
      'x-auth-roles',
      'x-auth-scope',
      'x-auth-subject',
      'x-auth-tenant-id',
    ]);
  });

  it('removes an identity header for which the token has no value', async () => {
    const { accessToken } = await on.exchange('service', {
      grantType: 'client_credentials',
      resource: orders,
    });
    const { httpResponse } = await ask(bearer(accessToken), { audience: orders });
    expect(httpResponse).toMatchObject({ case: 'okResponse', value: { headersToRemove: ['x-auth-roles'] } });
  });

  it('answers 401 with a challenge for a token that is not valid here (RFC 6750 §3.1)', async () => {
    const { accessToken, refreshToken, idToken } = await on.signIn();
    const other = await on.exchange('service', { grantType: 'client_credentials', resource: billing });
    const cases: [string, Demand][] = [
      ['garbage', { audience: orders }],
      [refreshToken, { audience: orders }],
      [idToken, { audience: orders }],
      [accessToken, { audience: billing }],
      [accessToken, { audience: orders, tenant: 'globex' }],
      [other.accessToken, { audience: billing }],
    ];
    for (const [token, demand] of cases) {
      const { status, challenge, body } = denialOf(await ask(bearer(token), demand));
      expect(status).toBe(401);
      expect(challenge).toMatch(/^Bearer realm="tessera", error="invalid_token"/);
      expect(JSON.parse(body)).toMatchObject({ error: 'invalid_token' });
    }
    expect(
      denialOf(
        await ask(
          bearer(accessToken),
          { audience: orders },
          { kind: 'certificate', id: 'introspector.unknown' },
        ),
      ).status,
    ).toBe(401);
  });

  it('answers 401 with what the client must ask for if the sign-in is too weak or too long ago (RFC 9470 §3)', async () => {
    const now = Math.floor(on.clock.now() / 1000);
    const { accessToken } = await on.signIn({ authTime: BigInt(now - 100) });
    const { accessToken: own } = await on.exchange('service', {
      grantType: 'client_credentials',
      resource: orders,
    });
    const passes = await ask(bearer(accessToken), { audience: orders, acr_values: '1', max_age: '200' });
    expect(passes.httpResponse.case).toBe('okResponse');
    for (const [token, demand, needed] of [
      [accessToken, { acr_values: '2' }, 'acr_values="2"'],
      [accessToken, { max_age: '50' }, 'max_age="50"'],
      [own, { acr_values: '1' }, 'acr_values="1"'],
    ] as const) {
      const { status, challenge } = denialOf(await ask(bearer(token), { audience: orders, ...demand }));
      expect(status).toBe(401);
      expect(challenge).toMatch(/error="insufficient_user_authentication"/);
      expect(challenge?.endsWith(needed)).toBe(true);
    }
  });

  it('answers 401 for a token of a tenant with an issuer of its own unless the route demands the tenant or the issuer', async () => {
    await addUmbra(on);
    const { accessToken } = await umbraService(on);
    const { accessToken: shared } = await on.exchange('service', {
      grantType: 'client_credentials',
      scope: 'orders.read',
    });
    const statusOf = async (token: string, demand: Demand, as?: Identity) => {
      const answer = await ask(bearer(token), { audience: orders, ...demand }, as);
      return answer.httpResponse.case === 'okResponse' ? 200 : denialOf(answer).status;
    };
    for (const as of [{ kind: 'certificate', id: 'introspector.all' }, 'shared token'] as const) {
      expect(await statusOf(accessToken, {}, as)).toBe(401);
      expect(await statusOf(shared, {}, as)).toBe(200);
      for (const demand of [{ tenant: 'umbra' }, { issuer: umbraIssuer }]) {
        expect(await statusOf(accessToken, demand, as)).toBe(200);
        expect(await statusOf(shared, demand, as)).toBe(401);
      }
    }
    expect(await statusOf(accessToken, {}, { kind: 'client', id: 'umbra-web' })).toBe(200);
  });

  it('answers 401 without an error code if there is no bearer token (RFC 6750 §3.1)', async () => {
    for (const headers of [{}, { authorization: 'Basic eDp5' }]) {
      const { status, challenge } = denialOf(await ask(headers, { audience: orders }));
      expect([status, challenge]).toEqual([401, 'Bearer realm="tessera"']);
    }
  });

  it('answers 401 to two Authorization headers, which Envoy joins', async () => {
    const { accessToken } = await on.signIn();
    const twice = { authorization: `Bearer ${accessToken},Bearer ${accessToken}` };
    expect(denialOf(await ask(twice, { audience: orders })).status).toBe(401);
  });

  it('answers 403 and names the scopes of the route if the token lacks one (RFC 6750 §3)', async () => {
    const { accessToken } = await on.exchange('service', {
      grantType: 'client_credentials',
      scope: 'orders.read',
    });
    const demand = { audience: orders, scope: 'orders.read orders.write' };
    const { status, challenge } = denialOf(await ask(bearer(accessToken), demand));
    expect(status).toBe(403);
    expect(challenge).toMatch(/error="insufficient_scope".*, scope="orders.read orders.write"$/);
  });

  it.each([{}, { scope: 'orders.read' }, { audience: orders, scopes: 'orders.read' }])(
    'answers 400 to a route that demands %o, whatever the token',
    async (demand: Demand) => {
      const { accessToken } = await on.signIn();
      const { status, body } = denialOf(await ask(bearer(accessToken), demand));
      expect(status).toBe(400);
      expect(JSON.parse(body)).toMatchObject({ error: 'invalid_request' });
    },
  );

  it('answers 503 with Retry-After and no challenge while keys cannot be fetched', async () => {
    const { accessToken } = await on.signIn();
    const without = await world();
    try {
      without.keys.line.cut = true;
      const service = local(Authorization, without.service, 'introspector', without.runtime.log);
      const request = {
        attributes: {
          request: { http: { headers: bearer(accessToken) } },
          contextExtensions: { audience: orders },
        },
      };
      const { status, challenge, headers } = denialOf(await service.check(request, call()));
      expect([status, challenge]).toEqual([503, undefined]);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    } finally {
      await without.close();
    }
  });
});
