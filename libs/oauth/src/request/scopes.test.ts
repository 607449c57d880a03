import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OAuthError } from '../errors.ts';
import {
  grantResourcesFor,
  grantScopes,
  introspectionScope,
  narrowScopes,
  parseScope,
  uriSpellings,
} from './scopes.ts';

const orders = 'https://orders.example';
const stock = 'https://stock.example';
const available = [
  { name: 'openid', audience: '' },
  { name: 'profile', audience: '' },
  { name: 'offline_access', audience: '' },
  { name: 'orders.read', audience: orders },
  { name: 'orders.write', audience: orders },
  { name: 'stock.read', audience: stock },
];
const ordersOnly = available.filter((scope) => scope.audience !== stock);

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof OAuthError) return error.code;
    throw error;
  }
}

describe('parseScope (RFC 6749 §3.3)', () => {
  it('keeps the order and drops duplicates.', () => {
    expect(parseScope('openid orders.read openid')).toEqual(['openid', 'orders.read']);
  });

  it('reads an empty text, and one of spaces, as no scope.', () => {
    expect([parseScope(''), parseScope('  ')]).toEqual([[], []]);
  });

  it.each(['openid  profile', ' openid profile', 'openid profile   '])(
    'takes %j, where spaces are repeated or stand at an end.',
    (text) => expect(parseScope(text)).toEqual(['openid', 'profile']),
  );

  it.each(['a"b', 'a\\b', 'é', 'a\tb', 'a\r\nb', 'a\u007f'])(
    'refuses %j, which is outside the grammar.',
    (text) => {
      expect(codeOf(() => parseScope(text))).toBe('invalid_scope');
    },
  );

  it('parses any text into unique well-formed names or throws invalid_scope.', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const code = codeOf(() => {
          const names = parseScope(text);
          expect(new Set(names).size).toBe(names.length);
          expect(names.every((name) => text.includes(name) && !name.includes(' '))).toBe(true);
        });
        expect([undefined, 'invalid_scope']).toContain(code);
      }),
    );
  });
});

describe('grantScopes with scopes that the application always gets', () => {
  const always = ['profile', 'orders.read'];
  const granted = (request: Partial<Parameters<typeof grantScopes>[0]>) =>
    grantScopes({ requested: ['openid'], resource: '', available, person: true, always, ...request });

  it('grants them besides what is asked for, in that order and once', () => {
    expect(granted({})).toEqual({ scopes: ['openid', 'profile', 'orders.read'], resource: orders });
    expect(granted({ requested: ['orders.read', 'openid'] }).scopes).toEqual([
      'orders.read',
      'openid',
      'profile',
    ]);
  });

  it('grants none that the application has lost, and refuses no request because of one', () => {
    expect(granted({ always: ['stock.write', 'profile'] }).scopes).toEqual(['openid', 'profile']);
    expect(granted({ requested: ['stock.read'] })).toEqual({
      scopes: ['stock.read', 'profile'],
      resource: stock,
    });
    expect(granted({ resource: stock })).toEqual({ scopes: ['openid', 'profile'], resource: stock });
  });

  it('refuses what is unknown, and a request without scope, as ever (RFC 6749 §3.3)', () => {
    expect(codeOf(() => granted({ requested: ['mail.read'] }))).toBe('invalid_scope');
    expect(codeOf(() => granted({ requested: [] }))).toBe('invalid_scope');
  });

  it('grants a client on its own behalf those of APIs, alone where it names no scope', () => {
    const own = { person: false, requested: [], available: ordersOnly };
    expect(granted(own)).toEqual({ scopes: ['orders.read'], resource: orders });
    expect(granted({ ...own, requested: ['orders.write'] }).scopes).toEqual(['orders.write', 'orders.read']);
    expect(granted({ ...own, available, resource: stock }).scopes).toEqual(['stock.read']);
  });

  it('keeps them where a request narrows what was granted', () => {
    const scopes = ['openid', 'profile', 'orders.read', 'orders.write'];
    expect(narrowScopes(scopes, ['openid'], always)).toEqual(['openid', 'profile', 'orders.read']);
    expect(codeOf(() => narrowScopes(scopes, ['stock.read'], ['stock.read']))).toBe('invalid_scope');
  });
});

describe('grantScopes as Keycloak decides', () => {
  const serviceScope = { name: introspectionScope, audience: '' };
  const admin = { name: 'admin.users.read', audience: 'urn:tessera:admin' };
  const all = [...available, serviceScope, admin];
  const granted = (requested: string[], request: Partial<Parameters<typeof grantScopes>[0]> = {}) =>
    grantScopes({ requested, resource: '', available: all, person: true, likeKeycloak: true, ...request });

  it('grants scopes of several resources, unless one is named (RFC 8707 §2.2)', () => {
    const requested = ['openid', 'orders.read', 'stock.read'];
    expect(granted(requested)).toEqual({ scopes: requested, resource: `${orders} ${stock}` });
    const always = ['stock.read'];
    expect(granted(['orders.read'], { always }).resource).toBe(`${orders} ${stock}`);
    expect(granted(requested, { resource: stock })).toEqual({
      scopes: ['openid', 'stock.read'],
      resource: stock,
    });
  });

  it('lets nobody have a token for this server and for others', () => {
    expect(codeOf(() => granted(['admin.users.read', 'orders.read']))).toBe('invalid_scope');
    expect(granted(['admin.users.read'], { always: ['orders.read'] }).scopes).toEqual(['admin.users.read']);
    const own = { person: false, always: ['orders.read'] };
    expect(codeOf(() => granted([introspectionScope, 'orders.read'], own))).toBe('invalid_scope');
    expect(granted([introspectionScope], own)).toEqual({ scopes: [introspectionScope], resource: '' });
  });

  it('leaves identity scopes of a client on its own behalf out, and lets it have none', () => {
    const own = { person: false, always: ['profile'] };
    expect(granted(['openid', 'profile'], own)).toEqual({ scopes: [], resource: '' });
    expect(granted([], own)).toEqual({ scopes: [], resource: '' });
    expect(granted(['openid', 'orders.read'], own).scopes).toEqual(['orders.read']);
    expect(codeOf(() => granted(['mail.read'], own))).toBe('invalid_scope');
  });

  it('grants a device that names no scope what its application always gets (RFC 8628 §3.1)', () => {
    const device = { declaredByDefault: true };
    expect(granted([], { ...device, always: ['profile'] }).scopes).toEqual(['profile']);
    expect(granted([], { ...device, available: ordersOnly }).scopes).toEqual([
      'openid',
      'profile',
      'orders.read',
      'orders.write',
    ]);
  });
});

describe('grantScopes', () => {
  it('grants the requested scopes and returns the resource of the API scopes.', () => {
    const requested = ['openid', 'orders.read'];
    expect(grantScopes({ requested, resource: '', available, person: true })).toEqual({
      scopes: requested,
      resource: orders,
    });
  });

  it('returns for identity scopes only the named resource, or none (RFC 8707 §2).', () => {
    for (const resource of ['', orders, stock]) {
      expect(grantScopes({ requested: ['openid'], resource, available, person: true })).toEqual({
        scopes: ['openid'],
        resource,
      });
    }
  });

  it('grants a client on its own behalf every API scope of its one resource if it requests none (RFC 6749 §3.3).', () => {
    for (const requested of [undefined, []]) {
      expect(grantScopes({ requested, resource: '', available: ordersOnly, person: false })).toEqual({
        scopes: ['orders.read', 'orders.write'],
        resource: orders,
      });
    }
  });

  it('grants by default what the application declares, without offline_access, where a device asks (RFC 8628 §3.1).', () => {
    expect(ordersOnly.map(({ name }) => name)).toContain('offline_access');
    const asked = { requested: [], available: ordersOnly, person: true, declaredByDefault: true };
    const scopes = ordersOnly.map(({ name }) => name).filter((name) => name !== 'offline_access');
    expect(grantScopes({ ...asked, resource: '' })).toEqual({ scopes, resource: orders });
    expect(() => grantScopes({ ...asked, resource: '', declaredByDefault: false })).toThrow('missing');
  });

  it('takes the default from the named resource (RFC 8707 §2).', () => {
    expect(grantScopes({ requested: undefined, resource: stock, available, person: false })).toEqual({
      scopes: ['stock.read'],
      resource: stock,
    });
  });

  it('omits API scopes of other resources if one is requested (RFC 8707 §2.2).', () => {
    const requested = ['openid', 'orders.read', 'stock.read'];
    expect(grantScopes({ requested, resource: stock, available, person: true })).toEqual({
      scopes: ['openid', 'stock.read'],
      resource: stock,
    });
  });

  it.each([
    ['an unknown scope', ['orders.delete'], '', true],
    ['a scope in another case', ['OpenID'], '', true],
    ['an identity scope without a person', ['openid'], '', false],
    ['offline_access without a person', ['orders.read', 'offline_access'], '', false],
    ['API scopes of two resources without resource', ['orders.read', 'stock.read'], '', true],
    ['only scopes of another resource than the named one', ['orders.read'], stock, true],
    ['no scope where the client has two resources', undefined, '', false],
    ['no scope in the name of a person', undefined, '', true],
  ])('answers %s with invalid_scope.', (_case, requested, resource, person) => {
    expect(codeOf(() => grantScopes({ requested, resource, available, person }))).toBe('invalid_scope');
  });

  it('grants a client on its own behalf the introspection scope, for the issuer, if it requests nothing else.', () => {
    const withScope = [...ordersOnly, { name: introspectionScope, audience: '' }];
    const ask = (requested: string[], { person = false, available = withScope } = {}) =>
      grantScopes({ resource: '', available, requested, person });
    const granted = { scopes: [introspectionScope], resource: '' };
    expect(ask([introspectionScope])).toEqual(granted);
    expect(codeOf(() => ask([introspectionScope], { person: true }))).toBe('invalid_scope');
    expect(codeOf(() => ask([introspectionScope], { available: ordersOnly }))).toBe('invalid_scope');
    expect(codeOf(() => ask([introspectionScope, 'orders.read']))).toBe('invalid_scope');
    expect(ask([]).scopes).toEqual(['orders.read', 'orders.write']);
    expect(ask([], { available: withScope.filter(({ audience }) => audience === '') })).toEqual(granted);
  });

  it('throws invalid_scope if a client without API scopes requests no scope.', () => {
    const request = { requested: undefined, resource: '', available: [], person: false };
    expect(codeOf(() => grantScopes(request))).toBe('invalid_scope');
  });

  it('takes an empty path of a resource for the path /, and issues for the declared audience (RFC 3986 §6.2.3).', () => {
    const ask = (resource: string, declared: string) => {
      const scopes = [
        { name: 'read', audience: declared },
        { name: 'openid', audience: '' },
      ];
      const granted = grantScopes({ requested: ['read'], resource, available: scopes, person: true });
      return [granted.resource, ...grantResourcesFor(resource, scopes)];
    };
    for (const [resource, declared] of [
      ['https://mcp.example/', 'https://mcp.example'],
      ['https://mcp.example', 'https://mcp.example/'],
      ['http://mcp.example:8000/?a=1', 'http://mcp.example:8000?a=1'],
    ] as const)
      expect(ask(resource, declared)).toEqual([declared, declared, '']);
    for (const [resource, declared] of [
      ['https://mcp.example/a/', 'https://mcp.example/a'],
      ['urn:mcp/', 'urn:mcp'],
    ] as const)
      expect(codeOf(() => ask(resource, declared))).toBe('invalid_target');
    const both = ['https://mcp.example', 'https://mcp.example/'].map((audience, i) => ({
      name: `read${i}`,
      audience,
    }));
    expect(grantResourcesFor('https://mcp.example/', both)).toEqual(['https://mcp.example/', '']);
  });

  it.each(['https://other.example', 'https://orders.example/v2', 'HTTPS://ORDERS.EXAMPLE'])(
    'answers the foreign resource %s with invalid_target (RFC 8707 §2).',
    (resource) => {
      expect(codeOf(() => grantScopes({ requested: ['openid'], resource, available, person: true }))).toBe(
        'invalid_target',
      );
    },
  );

  it('never grants scopes that are unavailable, not requested, or of two resources.', () => {
    const names = fc.subarray([...available.map((scope) => scope.name), 'unknown'], { minLength: 1 });
    const resources = fc.constantFrom('', orders, stock, 'https://other.example');
    fc.assert(
      fc.property(names, resources, fc.boolean(), (requested, resource, person) => {
        codeOf(() => {
          const granted = grantScopes({ requested, resource, available, person });
          const audiences = granted.scopes.map((name) => available.find((s) => s.name === name)?.audience);
          expect(granted.scopes.every((name) => requested.includes(name))).toBe(true);
          expect(new Set(audiences.filter((audience) => audience !== '')).size).toBeLessThanOrEqual(1);
          expect(audiences.every((audience) => audience === '' || audience === granted.resource)).toBe(true);
          if (!person) expect(audiences).not.toContain('');
        });
      }),
    );
  });
});

describe('grantResourcesFor (RFC 8707 §2.2)', () => {
  it('accepts any grant if no resource is requested.', () => {
    expect(grantResourcesFor('', available)).toEqual([]);
  });

  it('accepts a grant of the resource, and one without a resource if the resource is the application’s.', () => {
    expect(grantResourcesFor(orders, available)).toEqual([orders, '']);
    expect(grantResourcesFor('https://unknown.example', available)).toEqual(['https://unknown.example']);
  });
});

describe('narrowScopes (RFC 6749 §6)', () => {
  it('keeps the grant if nothing is requested.', () => {
    expect(narrowScopes(['openid', 'orders.read'], [])).toEqual(['openid', 'orders.read']);
  });

  it('narrows in the order of the grant.', () => {
    expect(narrowScopes(['openid', 'profile', 'orders.read'], ['orders.read', 'openid', 'openid'])).toEqual([
      'openid',
      'orders.read',
    ]);
  });

  it('refuses a wider scope, even together with granted ones.', () => {
    expect(codeOf(() => narrowScopes(['openid'], ['openid', 'orders.read']))).toBe('invalid_scope');
  });
});

describe('the spellings of a URI (RFC 3986 §6.2.3)', () => {
  it.each([
    ['https://a.example', ['https://a.example/', 'https://a.example']],
    ['https://a.example/', ['https://a.example/', 'https://a.example']],
    ['https://a.example?x', ['https://a.example/?x', 'https://a.example?x']],
    ['https://a.example/x/', ['https://a.example/x/']],
    ['urn:a/', ['urn:a/']],
  ])('are those with and without an empty path: %s', (uri, spellings) =>
    expect(uriSpellings(uri)).toEqual(spellings),
  );
});
