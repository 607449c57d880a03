import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isLoopbackRedirect,
  logoutRedirectUriProblem,
  matchesRegistered,
  redirectUriPrefixProblem,
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

  describe('by beginnings that are registered', () => {
    const below = (uri: string) =>
      matchesRegistered([registered], uri, { redirectUriPrefixes: ['https://app.example/shop/'] });

    it.each([
      registered,
      'https://app.example/shop/',
      'https://app.example/shop/orders/7',
      'https://app.example/shop/orders/',
      'https://app.example/shop/b%C3%BCcher%20neu',
      'https://app.example/shop/?page=2&sort=name',
      'https://app.example/shop/orders?at=12:30&filter=a%20b',
    ])('accepts %j.', (uri) => {
      expect(below(uri)).toBe(true);
    });

    it.each([
      // RED-1, RED-4, RED-6: another host, port, scheme or user.
      'https://app.example.evil.test/shop/',
      'https://app.example@evil.test/shop/',
      'https://evil.test/https://app.example/shop/',
      'https://app.example:8443/shop/',
      'http://app.example/shop/',
      'https://user@app.example/shop/',
      'https://*.app.example/shop/',
      // RED-2, RED-3: out of the path, however it is written.
      'https://app.example/',
      'https://app.example/shop',
      'https://app.example/shopping/',
      'https://app.example/shop/../evil',
      'https://app.example/shop/..',
      'https://app.example/shop/.',
      'https://app.example/shop/..;/evil',
      'https://app.example/shop/a;/../evil',
      'https://app.example/shop/;x/evil',
      'https://app.example/shop/%2e%2e/evil',
      'https://app.example/shop/%252e%252e/evil',
      'https://app.example/shop/%25%32%65%25%32%65/evil',
      'https://app.example/shop/..%2fevil',
      'https://app.example/shop/%2F..%2fevil',
      'https://app.example/shop/%5c..%5cevil',
      'https://app.example/shop/..\\evil',
      'https://app.example/shop//evil.test',
      'https://app.example/shop//',
      'https://app.example/shop/a%00',
      'https://app.example/shop/a%0d%0ab',
      'https://app.example/shop/a%3fb',
      'https://app.example/shop/a%25',
      'https://app.example/shop/\tevil',
      'https://app.example/shop/ evil',
      'https://app.example/shop/büro',
      'https://app.example/shop/*',
      // RED-8.
      'https://app.example/SHOP/',
      'HTTPS://app.example/shop/',
      // A response in the query, or an address for a page that forwards people.
      'https://app.example/shop/#x',
      'https://app.example/shop/?code=x',
      'https://app.example/shop/?a=1&state=x',
      'https://app.example/shop/?%63ode=x',
      'https://app.example/shop/?next=https://evil.test',
      'https://app.example/shop/?next=https%3A%2F%2Fevil.test',
      'https://app.example/shop/?next=https%253A%252F%252Fevil.test',
      'https://app.example/shop/?next=//evil.test',
      'https://app.example/shop/?next=%5C%5Cevil.test',
      'https://app.example/shop/?next=%09//evil.test',
      'https://app.example/shop/?next=javascript:alert(1)',
      'https://app.example/shop/?//evil.test',
    ])('refuses %j.', (uri) => {
      expect(below(uri)).toBe(false);
    });

    it('has no other meaning for a loopback host: its port counts, as it is declared.', () => {
      const local = { anyLoopbackPort: true, redirectUriPrefixes: ['http://localhost:3000/'] };
      expect(matchesRegistered([], 'http://localhost:3000/a', local)).toBe(true);
      expect(matchesRegistered([], 'http://localhost:3001/a', local)).toBe(false);
      expect(matchesRegistered([], 'http://localhost:3000', local)).toBe(false);
    });

    it.each([
      ['https://app.example/', undefined],
      ['https://app.example/shop/', undefined],
      ['http://localhost:3000/', undefined],
      ['https://app.example', 'It must end with a slash.'],
      ['https://app.example/shop', 'It must end with a slash.'],
      ['https://app.example/shop/*', 'It must not have a wildcard: it is the beginning itself.'],
      ['https://app.example/?a=/', 'It must not have a query.'],
      ['com.acme:/', 'It must be an https URL, or one with http on a loopback host.'],
      ['https://*/', 'It must not have a wildcard in its host.'],
      ['https://', 'It must name a host.'],
      ['/', 'It must be an absolute URI.'],
    ])('registers %j: %j.', (prefix, problem) => {
      expect(redirectUriPrefixProblem(prefix)).toBe(problem);
    });

    it('matches only what every parser reads below the beginning (RFC 9700 §4.1.1).', () => {
      const prefix = 'https://app.example/shop/';
      const pieces = fc.constantFrom(
        ...'/.%;?@:\\#*&=',
        '2e',
        '2f',
        '5c',
        '..',
        'a',
        'evil.test',
        '//',
        'next=',
        'code=',
      );
      fc.assert(
        fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
          const uri = prefix + parts.join('');
          if (!matchesRegistered([], uri, { redirectUriPrefixes: [prefix] })) return;
          const byte = (_all: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16));
          for (const read of [uri, uri.replaceAll(/%([0-9a-f]{2})/gi, byte)]) {
            expect(new URL(read).href.startsWith(prefix)).toBe(true);
            expect(new URL(read).pathname.replaceAll('\\', '/')).not.toMatch(/\/\/|\/\.\.?(\/|$)/);
          }
        }),
        { numRuns: 5000 },
      );
    });
  });

  it('matches nothing if nothing is registered.', () => {
    expect(matchesRegistered([], registered)).toBe(false);
  });
});
