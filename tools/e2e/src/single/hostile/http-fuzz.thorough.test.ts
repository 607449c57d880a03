import { randomBytes } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { people, secrets } from '../../harness/declared-state.ts';
import { leaks } from '@tessera/test-client';
import { firstOf, setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';
import { fuzz, insideOf } from './fuzz.ts';
import { malformedRequests, type RawRequest } from './http-requests.ts';
import { knownValues, takeValues, templatesOf } from './templates.ts';

interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

const unlimited = '1000000';
const environment = {
  TESSERA_TRUSTED_PROXIES: '127.0.0.1/32',
  TESSERA_DEVICE_POLL_INTERVAL: '1s',
  TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: unlimited,
  TESSERA_LOGIN_FAILURES_PER_ACCOUNT: unlimited,
  TESSERA_LOGIN_FAILURES_PER_ADDRESS: unlimited,
  TESSERA_CIBA_REQUESTS_PER_USER: unlimited,
  TESSERA_DEVICE_HMAC_KEY: randomBytes(32).toString('base64url'),
  TESSERA_WEBHOOK_KEY: randomBytes(32).toString('base64url'),
};

/** The codes of decisions and RFCs that a client may see, by status. */
const codes: Readonly<Record<number, readonly string[]>> = {
  400: [
    'invalid_request',
    'invalid_grant',
    'unauthorized_client',
    'unsupported_grant_type',
    'unsupported_token_type',
    'invalid_scope',
    'invalid_target',
    'access_denied',
    'authorization_pending',
    'slow_down',
    'expired_token',
    'invalid_binding_message',
    'unknown_user_id',
    'request_not_supported',
    'request_uri_not_supported',
    'registration_not_supported',
    'unsupported_response_type',
    'login_required',
  ],
  401: ['invalid_client', 'invalid_token', 'access_denied'],
  403: ['insufficient_scope'],
  404: ['invalid_request'],
  405: ['invalid_request'],
  413: ['invalid_request'],
  415: ['invalid_request'],
  429: ['rate_limited'],
  431: ['invalid_request'],
};

describe.each(firstOf(setUps.compact, setUps.split))('malformed HTTP requests, $name', (setUp) => {
  let system: System;
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });

  beforeAll(async () => {
    const stores = { databaseUrl: await installedDatabaseUrl(), redisUrl: redisUrl() };
    system = await startSystem(setUp, { stores, environment });
  });
  afterAll(async () => {
    agent.destroy();
    await system?.stop();
  });

  function send({ method, path, headers, body }: RawRequest): Promise<RawAnswer> {
    const { host, hostname, port } = new URL(system.baseUrl);
    const own = headers.some(([name]) => name === 'host') ? [] : ['host', host];
    const length = body === undefined ? [] : ['content-length', String(body.length)];
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(
        { agent, hostname, port, method, path, headers: [...own, ...length, ...headers.flat()] },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.on('error', reject);
          incoming.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text });
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body, 'latin1');
    });
  }

  const serverSecrets = (): string[] => {
    const ofProcesses = system.processes.flatMap(({ name }) =>
      Object.entries(system.environmentOf(name))
        .filter(([key]) => /KEK|PEPPER|KEYS?$|RPC_TOKEN|_URL$/.test(key))
        .map(([, value]) => value),
    );
    const chosen = [...Object.values(secrets), ...Object.values(people).map(({ password }) => password)];
    return [...ofProcesses, ...chosen];
  };

  it('get an error in the documented shape, never a 500, and nothing of the inside', async () => {
    const given = await takeValues(system);
    const requests = malformedRequests(templatesOf(given), knownValues(given));
    const forOurEyes = serverSecrets();
    await fuzz(requests, setUp.topology === 'compact' ? 1_500 : 500, async (request) => {
      const answer = await send(request);
      expect(insideOf(`${answer.text}${JSON.stringify(answer.headers)}`, forOurEyes)).toBeUndefined();
      expect(answer.headers['x-content-type-options']).toBe('nosniff');
      expectDocumented(request, answer);
    });
    const started = performance.now();
    for (let time = 0; time < 20; time += 1)
      expect((await system.http.ask('GET', '/.well-known/jwks.json')).status).toBe(200);
    // A few milliseconds each, on any machine far below this.
    expect(performance.now() - started).toBeLessThan(10_000);
    expect((await takeValues(system)).tokens.accessToken).not.toBe('');
    for (const process of system.processes) expect(process.running).toBe(true);
  });

  it('leave no error and no secret in the log', () => {
    const output = system.output();
    const errors = output.split('\n').filter((line) => /"level":"(?:error|fatal)"/.test(line));
    expect(errors.slice(0, 3)).toEqual([]);
    expect(leaks(output, system.http.seen)).toEqual([]);
    expect(serverSecrets().filter((secret) => output.includes(secret)).length).toBe(0);
  });
});

function expectDocumented(
  { path, headers, method }: RawRequest,
  { status, headers: answered, text }: RawAnswer,
): void {
  // The contract: discovery answers 500 where the issuer cannot be resolved, here because of a foreign host or scheme.
  const isForeign = headers.some(([name]) => /^(?:host|x-forwarded-(?:host|proto))$/.test(name));
  if (status === 500 && path.startsWith('/.well-known/openid-configuration') && isForeign) return;
  if (status < 400) return;
  const known = codes[status];
  expect(known, `status ${status}`).toBeDefined();
  if (method === 'HEAD') return;
  const type = String(answered['content-type']);
  if (type.startsWith('text/html')) {
    expect(text).toMatch(/^<!doctype html>/i);
    return;
  }
  expect(type).toBe('application/json; charset=utf-8');
  const { error, ...rest } = JSON.parse(text) as Record<string, unknown>;
  expect(known).toContain(error);
  const sentence = rest['message'] ?? rest['error_description'];
  expect(rest).toEqual(
    'message' in rest ? { isSuccess: false, message: sentence } : { error_description: sentence },
  );
  // RFC 6749 §5.2
  expect(sentence).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
}
