import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
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

describe('access tokens by a token of the platform (RFC 7523 §2.2)', () => {
  const tokenOf = (sub: string) => `e30.${Buffer.from(JSON.stringify({ sub })).toString('base64url')}.AA`;
  async function tokenFile(content: string) {
    const folder = await mkdtemp(join(tmpdir(), 'tessera-token-'));
    onTestFinished(async () => rm(folder, { recursive: true }));
    const path = join(folder, 'token');
    await writeFile(path, content);
    return path;
  }
  const sent = () => requests.map(({ body }) => Object.fromEntries(new URLSearchParams(body)));

  it('are requested without a secret, and with the token as it is then', async () => {
    const [first, second] = [tokenOf('system:serviceaccount:shop:orders'), tokenOf('repo:shop/orders')];
    const path = await tokenFile(`${first}\n`);
    const get = clientCredentials({ tokenEndpoint, tokenFile: path });
    await get(false);
    await writeFile(path, second);
    expect(await get(false)).toBe('token-1');
    await get(true);
    const usual = { grant_type: 'client_credentials', scope: 'tokens.introspect' };
    const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    expect(sent()).toEqual([
      { ...usual, client_assertion: first, client_assertion_type: type },
      { ...usual, client_assertion: second, client_assertion_type: type },
    ]);
    expect(requests.map(({ authorization }) => authorization)).toEqual([undefined, undefined]);
  });

  it('name the application if it is said, and the type of a SPIFFE ID (JWT-SVID)', async () => {
    const path = await tokenFile(tokenOf('spiffe://prod.example/orders'));
    await clientCredentials({ tokenEndpoint, tokenFile: path, clientId: 'orders' })(false);
    expect(sent()).toMatchObject([
      {
        client_id: 'orders',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe',
      },
    ]);
  });

  it('fail without the token if it cannot be read or is refused', async () => {
    const path = await tokenFile(tokenOf('orders'));
    status = 401;
    const get = clientCredentials({ tokenEndpoint, tokenFile: path });
    const failed = Promise.resolve(get(false));
    await expect(failed).rejects.toThrow('the token endpoint answered with status 401');
    await expect(failed).rejects.not.toThrow(tokenOf('orders'));
    await rm(path);
    await expect(Promise.resolve(get(false))).rejects.toThrow('ENOENT');
    expect(requests).toHaveLength(1);
  });
});
