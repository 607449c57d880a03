import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { clientCredentials } from './access-token-source.ts';

let http: Server;
let tokenEndpoint: string;
let status = 200;
let expiresIn = 600;
const requests: { authorization: string | undefined; body: string }[] = [];
beforeAll(async () => {
  http = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      requests.push({ authorization: request.headers.authorization, body });
      const answer = { access_token: `token-${requests.length}`, expires_in: expiresIn };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  tokenEndpoint = `http://127.0.0.1:${(http.address() as AddressInfo).port}/token`;
});
afterAll(() => void http.close());
beforeEach(() => {
  requests.length = 0;
  status = 200;
  expiresIn = 600;
});

const source = () => clientCredentials({ tokenEndpoint, clientId: 'orders api', clientSecret: 'a:b%c' });

describe('access tokens by client credentials (RFC 6749 section 4.4)', () => {
  it('are requested with encoded credentials and the introspection scope (section 2.3.1)', async () => {
    await source()(false);
    expect(requests).toEqual([
      {
        authorization: `Basic ${Buffer.from('orders%20api:a%3Ab%25c').toString('base64')}`,
        body: 'grant_type=client_credentials&scope=tokens.introspect',
      },
    ]);
  });

  it('are fetched once for concurrent callers, cached, and fetched again after a refusal', async () => {
    const get = source();
    expect(await Promise.all([get(false), get(false), get(false)])).toEqual([
      'token-1',
      'token-1',
      'token-1',
    ]);
    expect(await get(false)).toBe('token-1');
    expect(await get(true)).toBe('token-2');
    expect(await get(false)).toBe('token-2');
  });

  it('are renewed before they expire', async () => {
    expiresIn = 1;
    const get = source();
    await get(false);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await get(false)).toBe('token-2');
  });

  it('fail with the status and without the secret, and are retried on the next call', async () => {
    status = 401;
    const get = source();
    await expect(Promise.resolve(get(false))).rejects.toThrow('the token endpoint answered with status 401');
    status = 200;
    expect(await get(false)).toBe('token-2');
  });
});
