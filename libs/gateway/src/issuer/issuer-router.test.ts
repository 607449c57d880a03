import { declaresNothing } from '@tessera/oauth';
import { describe, expect, it } from 'vitest';
import { createIssuerRouter } from './issuer-router.ts';

const list = new Map([
  ['https://id.example/t/acme', 'acme'],
  ['https://id.example/t/acme/inner', 'inner'],
  ['https://login.globex.example', 'globex'],
  ['https://login.globex.example/sub', 'sub'],
  ['https://other.example:8443/x', 'other'],
  ['http://plain.example/x', 'plain'],
  ['https://id.example/auth', 'hidden'],
]);
const shared = ['/token', '/.well-known/openid-configuration', '/auth/verify'];

function routerFor(current = list as ReadonlyMap<string, string> | undefined, sharedIssuer?: string) {
  return createIssuerRouter({
    current: () => current,
    endpointsOf: (tenantId) => (tenantId === 'other' ? 'keycloak' : 'standard'),
    declaredUseAt: () => declaresNothing,
    sharedIssuer: sharedIssuer ?? 'https://id.example',
    isOtherName: (host) => ['gateway.internal:8080', 'login.globex.example'].includes(host),
    isSharedPath: (path) => shared.includes(path),
  });
}

function routed(host: string, url: string, router = routerFor()): string | undefined {
  const found = router.route(host, url);
  return found && `${found.tenant.tenantId} ${found.url}`;
}

describe('the issuer of a request', () => {
  it.each([
    ['id.example', '/t/acme/token', 'acme /token'],
    ['id.example', '/t/acme/authorize?a=/t/globex/?b', 'acme /authorize?a=/t/globex/?b'],
    ['id.example', '/t/acme/inner/token', 'inner /token'],
    ['ID.example:443', '/t/acme/token', 'acme /token'],
    ['gateway.internal:8080', '/t/acme/token', 'acme /token'],
    ['login.globex.example', '/token?x=1', 'globex /token?x=1'],
    ['login.globex.example:443', '/device', 'globex /device'],
    ['login.globex.example', '/sub/device', 'sub /device'],
    ['login.globex.example', '/t/acme/device', 'globex /t/acme/device'],
    ['other.example:8443', '/x/device', 'other /device'],
    ['other.example:8443', '/x/protocol/openid-connect/auth?a=1', 'other /authorize?a=1'],
    ['other.example:8443', '/x/protocol/openid-connect/token/introspect', 'other /introspect'],
    ['other.example:8443', '/x/protocol/openid-connect/auth/', 'other /protocol/openid-connect/auth/'],
    ['plain.example', '/x/protocol/openid-connect/auth', 'plain /protocol/openid-connect/auth'],
    ['other.example:8443', '/x', 'other /protocol/openid-connect/realm'],
    ['other.example:8443', '/x/?a=1', 'other /protocol/openid-connect/realm?a=1'],
    ['other.example:8443', '/x/account', 'other /account'],
    ['plain.example', '/x/', 'plain /'],
    ['plain.example', '/x/device', 'plain /device'],
    ['plain.example:80', '/x/device', 'plain /device'],
    ['id.example', '/auth/token', 'hidden /token'],
  ])('is that of the tenant: %s%s', (host, url, expected) => {
    expect(routed(host, url)).toBe(expected);
  });

  it.each([
    ['id.example', '/token'],
    ['id.example', '/auth/verify'],
    ['id.example:4431', '/t/acme/token'],
    ['id.example:8443', '/t/acme/token'],
    ['other.example:80:8443', '/x/device'],
    ['other.internal:8080', '/t/acme/token'],
    ['id.example', '/'],
    ['id.example', '/t/acme'],
    ['id.example', '/t/acmex/token'],
    ['id.example', '/t/ACME/token'],
    ['id.example', '//t/acme/token'],
    ['id.example', '/t/%61cme/token'],
    ['id.example', '/a/b/c/d/e/f/t/acme/token'],
    ['id.example', '/?/t/acme/token'],
    ['other.example', '/x/device'],
    ['id.example', '/x/device'],
    ['login.globex.example.evil.test', '/device'],
    ['', '/device'],
    ['id.example/t', '/acme/token'],
    ['login.globex.example/sub', '/device'],
  ])('is the shared one: %s%s', (host, url) => {
    expect(routed(host, url)).toBeUndefined();
  });

  it.each(['openid-configuration', 'oauth-authorization-server'])(
    'is named before or after its path in the address of %s (RFC 8414 §3.1, §5)',
    (name) => {
      const wellKnown = `/.well-known/${name}`;
      expect(routed('id.example', `${wellKnown}/t/acme`)).toBe(`acme ${wellKnown}`);
      expect(routed('id.example', `/t/acme${wellKnown}`)).toBe(`acme ${wellKnown}`);
      expect(routed('login.globex.example', wellKnown)).toBe(`globex ${wellKnown}`);
      expect(routed('id.example', `${wellKnown}/t/nobody`)).toBeUndefined();
    },
  );

  it('is never a tenant that declares the shared issuer, or one before the list is known', () => {
    const router = routerFor(new Map([['https://id.example', 'acme']]));
    expect(routed('id.example', '/token', router)).toBeUndefined();
    expect(router.issuerOf('acme')).toBeUndefined();
    const unknown = createIssuerRouter({
      current: () => undefined,
      endpointsOf: () => 'standard',
      declaredUseAt: () => declaresNothing,
      sharedIssuer: undefined,
      isOtherName: () => false,
      isSharedPath: () => false,
    });
    expect(unknown.isKnown()).toBe(false);
    expect(unknown.route('id.example', '/t/acme/token')).toBeUndefined();
    expect(router.isKnown()).toBe(true);
  });

  it('follows a change of the list', () => {
    let current: ReadonlyMap<string, string> = new Map();
    const router = createIssuerRouter({
      current: () => current,
      endpointsOf: () => 'standard',
      declaredUseAt: () => declaresNothing,
      sharedIssuer: undefined,
      isOtherName: () => false,
      isSharedPath: () => false,
    });
    expect(routed('id.example', '/t/acme/token', router)).toBeUndefined();
    current = list;
    expect(routed('id.example', '/t/acme/token', router)).toBe('acme /token');
    expect(routed('gateway.internal', '/t/acme/token', router)).toBeUndefined();
    expect(router.issuerOf('acme')).toBe('https://id.example/t/acme');
    expect(router.isOfTenant('https://login.globex.example')).toBe(true);
    expect(router.isOfTenant('https://id.example')).toBe(false);
  });
});
