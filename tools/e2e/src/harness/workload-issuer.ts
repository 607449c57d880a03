import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { createServer } from 'node:http';

/** Who gives tokens to workloads, as a cluster or a pipeline does. */
export interface WorkloadIssuer {
  readonly issuer: string;
  /** How often its keys were asked for. */
  readonly fetches: () => number;
  /** A token for `sub`, good for an hour; claims may be added. */
  token(claims: Readonly<Record<string, unknown>>, key?: KeyObject): string;
  stop(): Promise<void>;
}

/** Starts one at a port of 127.0.0.1. */
export async function startWorkloadIssuer(port: number): Promise<WorkloadIssuer> {
  const issuer = `http://127.0.0.1:${port}`;
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' };
  const documents: Readonly<Record<string, object>> = {
    '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/keys` },
    '/keys': { keys: [key] },
  };
  let fetches = 0;
  const server = createServer((request, response) => {
    fetches += 1;
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify(documents[request.url ?? ''] ?? {}));
  });
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  return {
    issuer,
    fetches: () => fetches,
    token: (claims, signer = privateKey) => {
      const iat = Math.floor(Date.now() / 1000);
      return signed({ iss: issuer, iat, exp: iat + 3_600, ...claims }, signer);
    },
    stop: () => {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };
}

function signed(claims: object, key: KeyObject): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'RS256', typ: 'JWT', kid: 'one' })}.${part(claims)}`;
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
}
