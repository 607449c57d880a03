import { describe, expect, it } from 'vitest';
import { createGuard } from './guard.ts';
import { resourceMetadata } from './resource-metadata.ts';
import { stub } from './testing/stub.ts';

const issuer = 'https://id.example';

describe('the metadata of a protected resource (RFC 9728)', () => {
  it.each([
    ['https://orders.example', 'https://orders.example/.well-known/oauth-protected-resource'],
    ['https://orders.example/', 'https://orders.example/.well-known/oauth-protected-resource'],
    ['https://api.example/orders', 'https://api.example/.well-known/oauth-protected-resource/orders'],
    ['https://api.example/orders/', 'https://api.example/.well-known/oauth-protected-resource/orders'],
    ['http://127.0.0.1:8080/x', 'http://127.0.0.1:8080/.well-known/oauth-protected-resource/x'],
  ])('of %s are at %s (section 3.1)', (resource, url) => {
    const metadata = resourceMetadata({ resource, issuer });
    expect(metadata.url).toBe(url);
    expect(metadata.path).toBe(new URL(url).pathname);
    // It is compared with what the client asked for (section 3.3).
    expect(metadata.document).toEqual({
      resource,
      authorization_servers: [issuer],
      bearer_methods_supported: ['header'],
    });
  });

  it('say what clients may ask for, and of whom (section 2)', () => {
    const issuers = [issuer, 'https://id.example/t/acme'];
    const { document } = resourceMetadata({
      resource: 'https://orders.example',
      issuer: issuers,
      scopes: ['orders.read'],
      name: 'Orders',
      documentation: 'https://docs.example',
    });
    expect(document).toMatchObject({
      authorization_servers: issuers,
      scopes_supported: ['orders.read'],
      resource_name: 'Orders',
      resource_documentation: 'https://docs.example',
    });
  });

  it.each([
    'http://orders.example',
    'https://orders.example?a=1',
    'https://orders.example#a',
    'urn:orders',
    '',
  ])('are not made for %j (section 1.2)', (resource) => {
    expect(() => resourceMetadata({ resource, issuer })).toThrow(TypeError);
  });

  it('are named in the challenge of a refusal (section 5.1)', async () => {
    const metadata = resourceMetadata({ resource: 'https://orders.example', issuer });
    const guard = createGuard(stub(), { audience: 'https://orders.example', metadata });
    const challenge = async (authorization?: string) => {
      const verdict = await guard(authorization);
      return verdict.ok ? '' : verdict.refusal.headers['www-authenticate'];
    };
    const named = `resource_metadata="${metadata.url}"`;
    expect(await challenge()).toBe(`Bearer ${named}`);
    expect(await challenge('Bearer bad')).toContain(`${named}, error="invalid_token"`);
  });
});
