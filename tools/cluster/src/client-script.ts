/**
 * Runs in a pod of the cluster, with Node alone: a service without a secret, which asks for access tokens with the
 * token of its platform, four times a second. After each answer it prints one line of JSON: how often it got which.
 */
import { generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** Where to send requests, which Host to send, and the file of the token, or the issuer that this pod is itself. */
const [base = '', host = '', source = ''] = process.argv.slice(2);
const pauseMs = 250;
const answers: Record<string, number> = {};

/** An issuer of workload tokens, as a service that builds software is one; this pod is its only workload. */
function serveIssuer(issuer: string): () => string {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const header = { alg: 'ES256', typ: 'JWT', kid: 'one' };
  const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: header.kid, alg: header.alg }] };
  createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(keys));
  }).listen(8080);
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return () => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer, sub: 'workload', aud: `https://${host}`, iat: now, exp: now + 300 };
    const signed = `${part(header)}.${part(claims)}`;
    const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  };
}

/** A projected token is read each time: the kubelet replaces it. */
const platformToken = source.startsWith('https:')
  ? serveIssuer(source)
  : () => readFileSync(source, 'utf8').trim();

/** The status, or the code of the error that came instead, and the client that the access token is of. */
async function ask(): Promise<{ readonly answer: string; readonly clientId?: string }> {
  const { promise, resolve } = Promise.withResolvers<{ answer: string; clientId?: string }>();
  const failed = (error: NodeJS.ErrnoException) => resolve({ answer: error.code ?? error.message });
  const sent = request(new URL('/token', base), {
    method: 'POST',
    headers: { host, 'content-type': 'application/x-www-form-urlencoded' },
    signal: AbortSignal.timeout(10_000),
  });
  sent.on('error', failed);
  sent.on('response', (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (more: string) => (text += more));
    response.on('error', failed);
    response.on('end', () => {
      const answer = String(response.statusCode);
      if (answer !== '200') return resolve({ answer });
      const { access_token: token } = JSON.parse(text) as { readonly access_token: string };
      const claims = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString();
      const { client_id: clientId } = JSON.parse(claims) as { readonly client_id: string };
      return resolve({ answer, clientId });
    });
  });
  const form = {
    grant_type: 'client_credentials',
    client_assertion: platformToken(),
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  };
  sent.end(new URLSearchParams(form).toString());
  return promise;
}

process.once('SIGTERM', () => process.exit(0));
for (;;) {
  const { answer, clientId } = await ask();
  answers[answer] = (answers[answer] ?? 0) + 1;
  process.stdout.write(`${JSON.stringify({ answers, last: answer, clientId })}\n`);
  await sleep(pauseMs);
}
