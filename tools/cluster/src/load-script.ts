/**
 * Runs in a pod of the cluster, with Node alone: client credentials, introspection, sign-in and refresh, again and
 * again. Each second it prints one line of JSON: how often each operation got each answer since the start.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** Operation to answer to number of times; `ok` is the expected answer, others are a status or an error code. */
type Counts = Record<string, Record<string, number>>;

interface Answer {
  /** The status, or the code of the error that came instead. */
  readonly status: string;
  readonly requestId: string;
  readonly location: string;
  readonly cookies: readonly string[];
  readonly text: string;
}

/** Where to send requests, which Host to send, and the folder of the secrets. */
const [base = '', host = '', secrets = ''] = process.argv.slice(2);
const pauseMs = 100;
const redirectUri = 'https://app.example.com/callback';
const counts: Counts = {};
const keepAlive = new Agent({ keepAlive: true });
const oneByOne = new Agent({ keepAlive: false });

/** The last unexpected answers, by which the logs of the processes can be searched. */
const unexpected: string[] = [];

function count(operation: string, answer: string, requestId: string): void {
  const own = (counts[operation] ??= {});
  own[answer] = (own[answer] ?? 0) + 1;
  if (answer === 'ok') return;
  unexpected.push(`${new Date().toISOString()} ${operation} ${answer} ${requestId}`);
  unexpected.splice(0, unexpected.length - 20);
}

/** Read each time: a rotated Secret reaches the mounted files without a restart. */
const secret = (name: string) => readFileSync(`${secrets}/${name}`, 'utf8').trim();
const credentialsOf = (client: string) => ({ client_id: client, client_secret: secret(`${client}-secret`) });

async function ask(
  path: string,
  form?: Readonly<Record<string, string>>,
  { agent = keepAlive, cookie = '' } = {},
): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const failed = (error: NodeJS.ErrnoException) =>
    resolve({ status: error.code ?? error.message, requestId: '', location: '', cookies: [], text: '' });
  const sent = request(new URL(path, base), {
    agent,
    method: form === undefined ? 'GET' : 'POST',
    headers: {
      host,
      ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      ...(path.startsWith('/token') || path.startsWith('/introspect') ? {} : { accept: 'text/html' }),
      ...(cookie !== '' && { cookie }),
    },
    signal: AbortSignal.timeout(10_000),
  });
  sent.on('error', failed);
  sent.on('response', (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (part: string) => (text += part));
    response.on('error', failed);
    response.on('end', () => {
      const { location = '', 'set-cookie': cookies = [] } = response.headers;
      const requestId = String(response.headers['x-request-id'] ?? '');
      resolve({ status: String(response.statusCode), requestId, location, cookies, text });
    });
  });
  sent.end(form === undefined ? undefined : new URLSearchParams(form).toString());
  return promise;
}

const jsonOf = ({ text }: Answer): Readonly<Record<string, unknown>> =>
  JSON.parse(text) as Record<string, unknown>;

/** Counts an answer; true if it is the expected one. */
function expected(operation: string, { status, requestId }: Answer, want = '200'): boolean {
  count(operation, status === want ? 'ok' : status, requestId);
  return status === want;
}

let accessToken = '';

async function clientCredentials(): Promise<void> {
  const form = { grant_type: 'client_credentials', ...credentialsOf('worker') };
  const answer = await ask('/token', form, { agent: oneByOne });
  if (expected('client credentials', answer)) accessToken = String(jsonOf(answer)['access_token']);
}

async function introspect(): Promise<void> {
  if (accessToken === '') return;
  const answer = await ask('/introspect', { token: accessToken, ...credentialsOf('orders') });
  if (answer.status === '200' && jsonOf(answer)['active'] !== true) {
    count('introspection', 'inactive', answer.requestId);
  } else expected('introspection', answer);
}

let refreshToken = '';

/** A request without an answer, or with 503, is repeated with the same token; a refused token ends in a new sign-in. */
async function refresh(): Promise<void> {
  if (refreshToken === '') {
    refreshToken = (await signIn()) ?? '';
    if (refreshToken === '') await sleep(2000);
    return;
  }
  const answer = await ask('/token', {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    client_id: 'web',
  });
  if (expected('refresh', answer)) refreshToken = String(jsonOf(answer)['refresh_token']);
  else if (answer.status === '400') refreshToken = '';
}

/** Authorization code with PKCE through the form of the sign-in page. */
async function signIn(): Promise<string | undefined> {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    client_id: 'web',
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid offline_access orders.read',
    state: 'load',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const started = await ask(`/authorize?${query.toString()}`);
  if (!expected('sign-in', started, '302')) return undefined;
  const cookie = started.cookies.map((each) => each.split(';', 1)[0]).join('; ');
  const page = await ask(started.location, undefined, { cookie });
  if (!expected('sign-in', page)) return undefined;
  const hidden = [...page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  const fields = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]));
  const more = page.cookies.map((each) => each.split(';', 1)[0]).join('; ');
  const form = { ...fields, identifier: 'ada', password: secret('ada-password') };
  const signedIn = await ask('/login', form, { cookie: [cookie, more].filter(Boolean).join('; ') });
  if (!expected('sign-in', signedIn, '302')) return undefined;
  const code = new URL(signedIn.location, base).searchParams.get('code') ?? '';
  const redemption = { grant_type: 'authorization_code', code, code_verifier: verifier };
  const tokens = await ask('/token', { ...redemption, redirect_uri: redirectUri, client_id: 'web' });
  return expected('sign-in', tokens) ? String(jsonOf(tokens)['refresh_token']) : undefined;
}

async function repeat(operation: () => Promise<void>): Promise<never> {
  for (;;) {
    await operation();
    await sleep(pauseMs);
  }
}

setInterval(
  () => process.stdout.write(`${JSON.stringify({ counts, unexpected, secrets: secret('version') })}\n`),
  1000,
);
process.once('SIGTERM', () => process.exit(0));
await Promise.all([repeat(clientCredentials), repeat(introspect), repeat(refresh)]);
