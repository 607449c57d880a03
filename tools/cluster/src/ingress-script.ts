/**
 * Runs in a pod of the cluster, with Node alone: a reverse proxy that follows an Ingress to the letter, and the client
 * of each issuer behind it. Prints one line of JSON: what was asked, and what did not get the expected answer.
 */
import { readFileSync } from 'node:fs';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

interface Rule {
  readonly host: string;
  readonly http: {
    readonly paths: readonly { readonly path: string; readonly pathType: 'Exact' | 'Prefix' }[];
  };
}

/** A client of an issuer; the shared one has no tenant. */
interface Subject {
  readonly issuer: string;
  readonly clientId: string;
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

/** The Service, the file of the Ingress, that of the client secret, and how often everything is asked. */
const [service = '', ingressFile = '', secretFile = '', rounds = '1', subjects = '[]'] =
  process.argv.slice(2);
const { spec } = JSON.parse(readFileSync(ingressFile, 'utf8')) as { spec: { rules: readonly Rule[] } };
const secret = readFileSync(secretFile, 'utf8').trim();

/** The `Prefix` of an Ingress ends at a slash. */
function isPublished(host: string, path: string): boolean {
  const rule = spec.rules.find((each) => each.host === host);
  return (rule?.http.paths ?? []).some(({ path: own, pathType }) =>
    pathType === 'Exact'
      ? path === own
      : path === own || path.startsWith(own.endsWith('/') ? own : `${own}/`),
  );
}

const refusal = 'published by no rule';

/** Sends a request on to the Service with its Host header and path, if a rule publishes it. */
function proxied(incoming: IncomingMessage, send: (answer: Answer) => void): void {
  const { host = '' } = incoming.headers;
  const path = (incoming.url ?? '').split('?', 1)[0] ?? '';
  if (!isPublished(host, path)) {
    send({ status: 404, text: refusal });
    return;
  }
  const onwards = request(new URL(incoming.url ?? '', service), {
    method: incoming.method ?? 'GET',
    headers: incoming.headers,
  });
  onwards.on('error', (error) => send({ status: 502, text: error.message }));
  onwards.on('response', (response) => void read(response).then(send));
  incoming.pipe(onwards);
}

async function read(response: IncomingMessage): Promise<Answer> {
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += String(part);
  return { status: response.statusCode, text };
}

const proxy = createServer((incoming, response) => {
  proxied(incoming, ({ status, text }) => response.writeHead(status ?? 502).end(text));
}).listen(0, '127.0.0.1');
await new Promise((resolve) => proxy.once('listening', resolve));
const entrance = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;

/** Asks for a URL of an issuer at another address, as a client whose DNS names that one. */
async function ask(base: string, url: string, form?: Readonly<Record<string, string>>): Promise<Answer> {
  const { host, pathname } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const sent = request(new URL(pathname, base), {
    method: form === undefined ? 'GET' : 'POST',
    headers: {
      host,
      ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
    },
    signal: AbortSignal.timeout(10_000),
  });
  sent.on('error', (error) => resolve({ status: undefined, text: error.message }));
  sent.on('response', (response) => void read(response).then(resolve));
  sent.end(form === undefined ? undefined : new URLSearchParams(form).toString());
  return promise;
}

let asked = 0;
const unexpected: string[] = [];

function expected(what: string, holds: boolean, { status, text }: Answer): void {
  asked += 1;
  if (!holds) unexpected.push(`${what}: ${status} ${text.slice(0, 120)}`);
}

const objectOf = ({ text }: Answer): Readonly<Record<string, unknown>> => {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
};

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? 'e30', 'base64url').toString() || '{}') as Record<
    string,
    unknown
  >;

async function askIssuer({ issuer, clientId }: Subject): Promise<void> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname === '/' ? '' : pathname;
  const documents = new Set([
    `${issuer}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ]);
  for (const url of documents) {
    const answer = await ask(entrance, url);
    expected(url, answer.status === 200 && objectOf(answer)['issuer'] === issuer, answer);
  }
  const keys = await ask(entrance, `${issuer}/.well-known/jwks.json`);
  expected(`${issuer} keys`, keys.status === 200, keys);
  const credentials = { client_id: clientId, client_secret: secret };
  const form = { grant_type: 'client_credentials', ...credentials };
  const token = await ask(entrance, `${issuer}/token`, form);
  const { access_token: accessToken } = objectOf(token);
  const isOfIssuer = token.status === 200 && claimsOf(String(accessToken))['iss'] === issuer;
  expected(`${issuer}/token`, isOfIssuer, isOfIssuer ? token : { ...token, text: 'no token of this issuer' });
  for (const closed of ['/introspect', '/revoke', '/auth/verify']) {
    const body = closed === '/auth/verify' ? undefined : { token: 'unknown', ...credentials };
    const outside = await ask(entrance, issuer + closed, body);
    expected(`${issuer}${closed} outside`, outside.status === 404 && outside.text === refusal, outside);
    const inside = await ask(service, issuer + closed, body);
    expected(`${issuer}${closed} inside`, inside.status !== undefined && inside.status !== 404, inside);
  }
}

const all = JSON.parse(subjects) as Subject[];
// A process learns of a new issuer a moment after it was declared.
for (const { issuer } of all) {
  for (let attempt = 0; attempt < 240; attempt += 1) {
    const answer = await ask(service, `${issuer}/.well-known/openid-configuration`);
    if (answer.status === 200 && objectOf(answer)['issuer'] === issuer) break;
    await sleep(500);
  }
}
for (let round = 0; round < Number(rounds); round += 1) for (const subject of all) await askIssuer(subject);
proxy.close();
process.stdout.write(`${JSON.stringify({ asked, unexpected: unexpected.slice(0, 20) })}\n`);
