import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isLoopbackRedirect,
  logoutRedirectUriProblem,
  matchesRegistered,
  redirectUriProblem,
} from './redirect-uri.ts';

const registered = 'https://app.example/cb';

describe('registration of redirect URIs (RFC 6749 §3.1.2, RFC 8252 §7, RFC 9700 §4.1)', () => {
  it.each([
    registered,
    'https://app.example',
    'https://app.example/',
    'https://app.example:8443/cb?tenant=a&next=%2Fhome',
    'https://xn--bcher-kva.example/cb',
    'https://app.example/cb?mail=ada@acme.example',
    `https://app.example/cb?quote='"<>`,
    'http://localhost:9000/callback',
    'http://127.0.0.1/cb',
    'http://[::1]:9000/cb',
    'https://192.0.2.7/cb',
    'com.example.app:/oauth2redirect',
    'com.example.app://callback',
  ])('accepts %s.', (uri) => {
    expect(redirectUriProblem(uri)).toBeUndefined();
    expect(logoutRedirectUriProblem(uri)).toBeUndefined();
  });

  it.each([
    ['', 'absolute'],
    ['/cb', 'absolute'],
    ['app.example/cb', 'absolute'],
    ['.*', 'absolute'],
    ['https:', 'host'],
    ['https:/app.example/cb', 'host'],
    ['https:///cb', 'host'],
    ['https://:443/cb', 'host'],
    ['https://app.example:/cb', 'port'],
    ['https://app.example:0/cb', 'port'],
    ['https://app.example:65536/cb', 'port'],
    ['https://app.example:80:90/cb', 'port'],
    ['http://app.example/cb', 'https'],
    ['http://localhost.evil.test/', 'https'],
    ['http://127.0.0.2/cb', 'https'],
    ['HTTPS://app.example/cb', 'scheme'],
    ['https://APP.example/cb', 'lower case'],
    ['https://127.1/cb', 'plain host'],
    ['https://0x7f000001/cb', 'plain host'],
    ['https://app%2eexample/cb', 'plain host'],
    ['https://app..example/cb', 'plain host'],
    ['https://[::1/cb', 'port'],
    ['https://[::ffff:127.0.0.1]/cb', 'plain host'],
    ['https://[0::1]/cb', 'plain host'],
    ['https://*.app.example/cb', 'wildcard'],
    ['com.example.app://*/cb', 'wildcard'],
    ['https://user@app.example/cb', 'user information'],
    ['https://user:word@app.example/cb', 'user information'],
    ['https://a@b@app.example/cb', 'several "@"'],
    ['http://127.0.0.1:80@evil.test/', 'user information'],
    ['https://app.example\\@evil.test/cb', 'backslash'],
    ['https://app.example/cb\\', 'backslash'],
    ['https://app.example/c b', 'ASCII'],
    ['https://app.example/cb\t', 'ASCII'],
    ['https://app.example/cb\r\nX: y', 'ASCII'],
    ['https://app.example/cb\u0000', 'ASCII'],
    ['https://äpp.example/cb', 'ASCII'],
    ['https://app.example/cb%', 'percent'],
    ['https://app.example/cb%zz', 'percent'],
    ['https://app.example/cb/../x', 'segments'],
    ['https://app.example/cb/..', 'segments'],
    ['https://app.example/cb/.', 'segments'],
    ['https://app.example/cb/..;/x', 'segments'],
    ['https://app.example/cb/%2e%2e/x', 'percent-encode'],
    ['https://app.example/cb/%252e%252e/x', 'percent-encode'],
    ['https://app.example/cb/%25%32%65/x', 'percent-encode'],
    ['https://app.example/c%62', 'percent-encode'],
    ['com.example.app:', 'host or a path'],
    [`https://app.example/${'a'.repeat(2048)}`, '2048'],
  ])('refuses %j and says why.', (uri, reason) => {
    expect(redirectUriProblem(uri)).toContain(reason);
    expect(logoutRedirectUriProblem(uri)).toContain(reason);
  });

  it('refuses a fragment in a redirect URI (RFC 6749 §3.1.2), not in a logout redirect URI.', () => {
    expect(redirectUriProblem('https://app.example/x?a=1#f')).toContain('fragment');
    expect(redirectUriProblem('https://app.example/x#')).toContain('fragment');
    expect(logoutRedirectUriProblem('https://app.example/x?a=1#f')).toBeUndefined();
  });

  it('refuses schemes that execute or contain content, in upper or lower case.', () => {
    const schemes = fc.constantFrom(
      'javascript',
      'data',
      'vbscript',
      'file',
      'blob',
      'about',
      'ftp',
      'myapp',
    );
    const mixed = fc
      .tuple(schemes, fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }))
      .map(([scheme, upper]) =>
        [...scheme].map((c, i) => (upper[i] === true ? c.toUpperCase() : c)).join(''),
      );
    fc.assert(
      fc.property(
        mixed,
        fc.constantFrom(':alert(1)', '://app.example/cb', ':/cb', '://%0aalert(1)'),
        (scheme, rest) => {
          expect(redirectUriProblem(scheme + rest)).toBeDefined();
          expect(logoutRedirectUriProblem(scheme + rest)).toBeDefined();
        },
      ),
    );
  });

  it('accepts only URIs whose host and path a browser reads exactly as written.', () => {
    const pieces = fc.constantFrom(
      'https://',
      'http://',
      'app.example',
      'localhost',
      '127.0.0.1',
      ...'@:/?.;%*\\',
      '2e',
      '..',
      'evil.test',
      '[::1]',
      ':80',
      'cb',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
        const uri = `https://${parts.join('')}`;
        if (redirectUriProblem(uri) !== undefined) return;
        const parsed = new URL(uri);
        const rest = uri.slice(`https://${parsed.host}`.length);
        expect(uri.startsWith(`https://${parsed.host}`)).toBe(true);
        expect(/^(\?|$)/.test(rest) ? '/' : rest.split('?')[0]).toBe(parsed.pathname);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('comparison with the registered redirect URIs (RFC 9700 §2.1)', () => {
  it('accepts the same bytes.', () => {
    expect(matchesRegistered(['https://other.example/', registered], registered)).toBe(true);
  });

  it.each([
    'https://app.example.evil.test/cb',
    'https://app.example@evil.test/cb',
    'https://appxexample/cb',
    'https://app.example/cb/',
    'https://app.example/cb/../x',
    'https://app.example/cb/..;/x',
    'https://app.example/cb/%2e%2e/x',
    'https://app.example//cb',
    'https://app.example/cb/.',
    'https://app.example/c%62',
    'https://app.example/CB',
    'HTTPS://APP.example/cb',
    'https://app.example:443/cb',
    'https://app.example/cb?',
    'https://app.example/cb#',
    'https://*.example/cb',
    '*',
    '',
  ])('refuses %j.', (uri) => {
    expect(matchesRegistered([registered], uri)).toBe(false);
  });

  it('makes no exception for the port of a loopback address: the contract asks for an exact match.', () => {
    expect(matchesRegistered(['http://127.0.0.1:9000/cb'], 'http://127.0.0.1:9001/cb')).toBe(false);
    expect(matchesRegistered(['http://127.0.0.1/cb'], 'http://localhost/cb')).toBe(false);
  });

  describe('with any loopback port (RFC 8252 §7.3)', () => {
    const any = { anyLoopbackPort: true };

    it.each([
      ['http://127.0.0.1/cb', 'http://127.0.0.1:49152/cb'],
      ['http://127.0.0.1:3334/cb', 'http://127.0.0.1:3335/cb'],
      ['http://127.0.0.1:3334/cb', 'http://127.0.0.1/cb'],
      ['http://[::1]:3334/cb?a=1', 'http://[::1]:65535/cb?a=1'],
      ['http://localhost:3334', 'http://localhost:1'],
      ['http://localhost?a=1', 'http://localhost:1?a=1'],
      [registered, registered],
    ])('with %s registered accepts %s.', (known, uri) => {
      expect(matchesRegistered(['https://other.example/', known], uri, any)).toBe(true);
      expect(isLoopbackRedirect(known)).toBe(known !== registered);
    });

    it.each([
      ['http://127.0.0.1/cb', 'http://127.0.0.1:49152/cb/'],
      ['http://127.0.0.1/cb', 'http://127.0.0.1:49152/CB'],
      ['http://127.0.0.1/cb', 'http://127.0.0.1:49152/cb?a'],
      ['http://127.0.0.1/cb', 'http://localhost:49152/cb'],
      ['http://127.0.0.1/cb', 'http://127.0.0.2:49152/cb'],
      ['http://127.0.0.1/cb', 'https://127.0.0.1:49152/cb'],
      ['http://127.0.0.1/cb', 'http://127.0.0.1:0/cb'],
      ['http://127.0.0.1/cb', 'http://127.0.0.1:65536/cb'],
      ['http://127.0.0.1/cb', 'http://127.0.0.1:080/cb'],
      ['http://127.0.0.1/cb', 'http://127.0.0.1:/cb'],
      ['http://127.0.0.1/cb', 'http://127.0.0.1:80:90/cb'],
      ['http://127.0.0.1/cb', 'http://127.0.0.1:80@evil.test/cb'],
      ['http://127.0.0.1/cb', 'http://127.0.0.1:80\\@evil.test/cb'],
      ['http://127.0.0.1/cb', 'http://127.0.0.1:80.evil.test/cb'],
      ['http://127.0.0.1/cb', 'http://127.0.0.1.evil.test/cb'],
      ['http://127.0.0.1/cb', 'http://user@127.0.0.1:80/cb'],
      ['http://127.0.0.1/cb', 'http://127.0.0.1:80/cb#'],
      ['http://127.0.0.1/cb', 'HTTP://127.0.0.1:80/cb'],
      ['http://127.0.0.1/cb', 'http://127.0.0.1:80/cb\n'],
      ['https://127.0.0.1/cb', 'https://127.0.0.1:8443/cb'],
      ['https://localhost:1/cb', 'https://localhost:2/cb'],
      [registered, 'https://app.example:8443/cb'],
    ])('with %s registered refuses %j.', (known, uri) => {
      expect(matchesRegistered([known], uri, any)).toBe(false);
    });
  });

  it('matches nothing if nothing is registered.', () => {
    expect(matchesRegistered([], registered)).toBe(false);
  });
});
