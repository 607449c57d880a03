import { describe, expect, it } from 'vitest';
import { discover } from './oauth-client.ts';

describe('a server that a client finds by its metadata', () => {
  const client = { clientId: 'tv', clientSecret: 'y' };
  const found = async (issuer: string, endpoints: Readonly<Record<string, unknown>>) => {
    const metadata = { issuer, token_endpoint: `${issuer}/token`, ...endpoints };
    const config = await discover(issuer, client, { fetch: async () => Response.json(metadata) });
    return config.serverMetadata().token_endpoint;
  };

  it.each(['https://id.example.com', 'http://localhost:3000'])('may be %s', async (issuer) => {
    expect(await found(issuer, {})).toBe(`${issuer}/token`);
  });

  it.each([
    'authorization_endpoint',
    'token_endpoint',
    'device_authorization_endpoint',
    'backchannel_authentication_endpoint',
    'revocation_endpoint',
  ])('gets nothing if its %s is an address that others on the way can read', async (endpoint) => {
    for (const issuer of ['https://id.example.com', 'http://localhost:3000'])
      await expect(found(issuer, { [endpoint]: 'http://id.example.com/x' })).rejects.toThrow(
        `The ${endpoint} of ${issuer} must begin with https://`,
      );
  });

  it('gets nothing if an endpoint is no address', async () => {
    await expect(found('https://id.example.com', { token_endpoint: 7 })).rejects.toThrow(
      'The token_endpoint of https://id.example.com must be an address',
    );
  });
});
