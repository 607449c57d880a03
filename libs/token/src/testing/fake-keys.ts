import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import {
  accessTokenHash,
  isSigningAlgorithm,
  signingAlgorithms,
  type SigningAlgorithmName,
} from '@tessera/oauth';
import { KeysService, KeyState, TokenType } from '@tessera/proto-gen/keys';
import { fakePeer, throughLine, type Line } from './fake-peer.ts';

/** A key pair with its `kid` and its algorithm. Generated once per test file, as RSA keys are slow to generate. */
export interface TestKey {
  readonly kid: string;
  readonly algorithm: SigningAlgorithmName;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function testKey(kid: string, algorithm: SigningAlgorithmName = 'RS256'): TestKey {
  const pair =
    algorithm === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { kid, algorithm, ...pair };
}

/** A compact JWS with any header over any payload, signed with the algorithm of the key. */
export function signedToken(key: TestKey, header: unknown, payload: unknown): string {
  const encode = (value: unknown) =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
  const text = `${encode(header)}.${encode(payload)}`;
  const { digest, signing } = signingAlgorithms[key.algorithm];
  const signature = sign(digest, Buffer.from(text), { key: key.privateKey, ...signing });
  return `${text}.${signature.toString('base64url')}`;
}

const types: Readonly<Partial<Record<TokenType, string>>> = {
  [TokenType.ID_TOKEN]: 'JWT',
  [TokenType.LOGOUT_TOKEN]: 'logout+jwt',
};

/** Signs with the first of the keys for an algorithm that a test gives it and publishes all of them. */
export class FakeKeys {
  readonly line: Line = { cut: false };
  keys: TestKey[];
  /** The keys of tenants with issuers of their own. */
  readonly ofTenants = new Map<string, TestKey>();
  /** Number of items of each Sign call. */
  readonly signCalls: number[] = [];
  /** When the caller of each Sign call stops waiting. */
  readonly deadlines: number[] = [];
  fetches = 0;
  /** Awaited before the public keys are returned. */
  hold: Promise<unknown> | undefined;
  /** Called by each Sign call before it signs. */
  beforeSign: (() => void) | undefined;
  /** As a version that knows no other algorithm. */
  knowsRs256Alone = false;
  /** Items whose payload contains this text are refused. */
  refused: string | undefined;

  constructor(...keys: TestKey[]) {
    this.keys = keys;
  }

  peer() {
    return fakePeer(KeysService, {
      sign: ({ items, tenantId }, { deadline }) => {
        throughLine(this.line);
        this.deadlines.push(deadline);
        this.beforeSign?.();
        this.signCalls.push(items.length);
        const tokens: string[] = [];
        for (const { type, payload, atHashOf, algorithm } of items) {
          const key = this.#signing(tenantId, algorithm);
          const text = Buffer.from(payload).toString('utf8');
          if (this.refused !== undefined && text.includes(this.refused)) throw new Error('refused');
          const typ = types[type] ?? 'at+jwt';
          const hashed = atHashOf === undefined ? '' : accessTokenHash(tokens[atHashOf] ?? '');
          const claims = hashed === '' ? text : { ...(JSON.parse(text) as object), at_hash: hashed };
          tokens.push(signedToken(key, { alg: key.algorithm, kid: key.kid, typ }, claims));
        }
        return { tokens, tenantId };
      },
      getPublicKeys: async ({ tenantId, algorithms }) => {
        this.fetches += 1;
        throughLine(this.line);
        await this.hold;
        const known = this.knowsRs256Alone ? ['RS256'] : algorithms.filter(isSigningAlgorithm);
        const keys = this.#keysOf(tenantId).filter(({ algorithm }) => known.includes(algorithm));
        return {
          tenantId,
          algorithms: known,
          keys: keys.map(({ kid, algorithm, publicKey }) => {
            const { n = '', e = '', crv = '', x = '', y = '' } = publicKey.export({ format: 'jwk' });
            return { kid, state: KeyState.ACTIVE, algorithm, members: { n, e, crv, x, y } };
          }),
        };
      },
    });
  }

  #signing(tenantId: string, asked: string): TestKey {
    const own = this.#keysOf(tenantId);
    const algorithm = this.knowsRs256Alone || asked === '' ? 'RS256' : asked;
    const key = own.find((each) => each.algorithm === algorithm);
    if (key === undefined) throw new Error('no key');
    return key;
  }

  #keysOf(tenantId: string): TestKey[] {
    const ofTenant = this.ofTenants.get(tenantId);
    return tenantId === '' ? this.keys : ofTenant === undefined ? [] : [ofTenant];
  }
}
