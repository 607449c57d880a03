/** An issuer of tokens for the jobs of pipelines, as GitHub Actions and GitLab are. */
import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface JobTokens {
  readonly issuer: string;
  /** A token of a job, good for five minutes. */
  token(subject: string, audience: string): string;
  /** The variables with which a job at GitHub asks for its token. */
  variablesOf(subject: string): Readonly<Record<string, string>>;
  stop(): void;
}

/** Starts one at a free port of 127.0.0.1. */
export async function startJobTokens(): Promise<JobTokens> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'jobs', alg: 'RS256', use: 'sig' };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', issuer);
    const send = (body: object) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    if (pathname === '/.well-known/openid-configuration') return send({ issuer, jwks_uri: `${issuer}/keys` });
    if (pathname === '/keys') return send({ keys: [jwk] });
    const [, job] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
    const audience = searchParams.get('audience');
    if (pathname !== '/token' || job === undefined || audience === null) return response.writeHead(403).end();
    return send({ value: token(Buffer.from(job, 'base64url').toString(), audience) });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  function token(sub: string, aud: string): string {
    const iat = Math.floor(Date.now() / 1000);
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { iss: issuer, sub, aud, iat, nbf: iat, exp: iat + 300, jti: crypto.randomUUID() };
    const text = `${part({ alg: 'RS256', typ: 'JWT', kid: jwk.kid })}.${part(claims)}`;
    return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
  }

  return {
    issuer,
    token,
    variablesOf: (subject) => ({
      ACTIONS_ID_TOKEN_REQUEST_URL: `${issuer}/token?api-version=2`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: Buffer.from(subject).toString('base64url'),
    }),
    stop: () => void server.close(),
  };
}
