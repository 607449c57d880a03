import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Secret } from '@tessera/kit';
import { expect, it, onTestFinished } from 'vitest';
import { createTryProvider } from './try-provider.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const redirectUri = 'https://id.example/login/provider/acme/corp';
const json = (response: ServerResponse, status: number, value: unknown) => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
};

/** A provider with a client `tessera` and its secret `right`, in which answers can be replaced. */
async function startProvider(replaced: Readonly<Record<string, Answer>> = {}): Promise<string> {
  const answers: Readonly<Record<string, Answer>> = {
    '/.well-known/openid-configuration': (_request, response) =>
      json(response, 200, {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
      }),
    '/keys': (_request, response) => json(response, 200, { keys: [{ kty: 'EC' }] }),
    '/authorize': ({ url = '' }, response) => {
      const known = new URL(url, issuer).searchParams.get('redirect_uri') === redirectUri;
      response.writeHead(known ? 200 : 400).end('<p>Sign in</p>');
    },
    '/token': ({ headers }, response) => {
      const right = `Basic ${Buffer.from('tessera:right').toString('base64')}`;
      if (headers.authorization === right) json(response, 400, { error: 'invalid_grant' });
      else json(response, 401, { error: 'invalid_client' });
    },
    ...replaced,
  };
  const server = createServer((request, response) => {
    const answer = answers[(request.url ?? '').split('?', 1)[0] ?? ''];
    if (answer === undefined) response.writeHead(404).end();
    else answer(request, response);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return issuer;
}

const tryProvider = createTryProvider(true);

async function wrongAt(issuer: string, more: object = {}) {
  const tried = { issuer, clientId: 'tessera', redirectUri, clientSecret: new Secret('right'), ...more };
  return (await tryProvider(tried)).filter(({ isGood }) => !isGood);
}

it('finds nothing wrong with a provider that knows this client, its secret and the redirect URI', async () => {
  const issuer = await startProvider();
  const tried = { issuer, clientId: 'tessera', redirectUri, clientSecret: new Secret('right') };
  const findings = await tryProvider(tried);
  expect(findings.map(({ isGood }) => isGood)).toEqual([true, true, true, true]);
});

it('names the issuer that the provider has, if it is another one', async () => {
  const issuer = await startProvider();
  expect(await wrongAt(`${issuer}/`)).toMatchObject([{ input: 'issuer', values: { named: issuer } }]);
});

it('says where it looked for metadata in vain, and what was there', async () => {
  const issuer = await startProvider();
  const url = `${issuer}/realms/staff/.well-known/openid-configuration`;
  expect(await wrongAt(`${issuer}/realms/staff`)).toMatchObject([
    { input: 'issuer', values: { url, status: 404 } },
  ]);
  const page = await startProvider({
    '/.well-known/openid-configuration': (_request, response) => void response.end('<h1>Welcome</h1>'),
  });
  expect(await wrongAt(page)).toMatchObject([
    { input: 'issuer', values: { url: expect.stringContaining(page) } },
  ]);
});

it('says that keys cannot be read', async () => {
  const issuer = await startProvider({ '/keys': (_request, response) => json(response, 200, { keys: [] }) });
  expect(await wrongAt(issuer)).toMatchObject([{ input: 'issuer', values: { url: `${issuer}/keys` } }]);
});

it('names the redirect URI to register where the provider refuses it', async () => {
  const issuer = await startProvider();
  const other = 'https://id.example/login/provider/acme/other';
  expect(await wrongAt(issuer, { redirectUri: other })).toMatchObject([
    { input: 'clientId', values: { redirectUri: other, status: 400 } },
  ]);
});

it('tells a wrong secret from a code that is refused as it must be', async () => {
  const issuer = await startProvider();
  expect(await wrongAt(issuer, { clientSecret: new Secret('wrong') })).toMatchObject([{ input: 'clientId' }]);
  // Without a secret it is not asked.
  expect(await wrongAt(issuer, { clientSecret: undefined })).toEqual([]);
});

it('says why nothing answers', async () => {
  const issuer = await startProvider();
  const nobody = await wrongAt('http://127.0.0.1:1');
  expect(nobody).toMatchObject([
    { input: 'issuer', values: { why: expect.stringContaining('ECONNREFUSED') } },
  ]);
  const [refused] = await createTryProvider(false)({ issuer, clientId: 'tessera', redirectUri });
  expect(refused).toMatchObject({ isGood: false, values: { why: 'the address is refused: not_https' } });
});
