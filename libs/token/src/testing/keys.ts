import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { accessTokenHash } from '@tessera/oauth';
import { KeysService, KeyState, TokenType } from '@tessera/proto-gen/keys';
import { fakePeer, throughLine, type Line } from './fake.ts';

/** A key pair with its `kid`. Generated once per test file, as RSA keys are slow to generate. */
export interface TestKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function testKey(kid: string): TestKey {
  return { kid, ...generateKeyPairSync('rsa', { modulusLength: 2048 }) };
}

/** A compact JWS with any header over any payload, signed with RS256. */
export function signedToken(key: TestKey, header: unknown, payload: unknown): string {
  const encode = (value: unknown) =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
  const text = `${encode(header)}.${encode(payload)}`;
  return `${text}.${sign('sha256', Buffer.from(text), key.privateKey).toString('base64url')}`;
}

const types: Readonly<Partial<Record<TokenType, string>>> = {
  [TokenType.ID_TOKEN]: 'JWT',
  [TokenType.LOGOUT_TOKEN]: 'logout+jwt',
};

/** Signs with the first of the keys that a test gives it and publishes all of them. */
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
  /** Items whose payload contains this text are refused. */
  refused: string | undefined;

  constructor(...keys: TestKey[]) {
    this.keys = keys;
  }

  peer() {
    return fakePeer(KeysService, 'keys', {
      sign: ({ items, tenantId }, { deadline }) => {
        throughLine(this.line);
        this.deadlines.push(deadline);
        this.beforeSign?.();
        this.signCalls.push(items.length);
        const [key] = this.#keysOf(tenantId);
        if (key === undefined) throw new Error('no key');
        const tokens: string[] = [];
        for (const { type, payload, atHashOf } of items) {
          const text = Buffer.from(payload).toString('utf8');
          if (this.refused !== undefined && text.includes(this.refused)) throw new Error('refused');
          const typ = types[type] ?? 'at+jwt';
          const hashed = atHashOf === undefined ? '' : accessTokenHash(tokens[atHashOf] ?? '');
          const claims = hashed === '' ? text : { ...(JSON.parse(text) as object), at_hash: hashed };
          tokens.push(signedToken(key, { alg: 'RS256', kid: key.kid, typ }, claims));
        }
        return { tokens, tenantId };
      },
      getPublicKeys: async ({ tenantId }) => {
        this.fetches += 1;
        throughLine(this.line);
        await this.hold;
        return {
          tenantId,
          keys: this.#keysOf(tenantId).map(({ kid, publicKey }) => {
            const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
            return { kid, state: KeyState.ACTIVE, n, e };
          }),
        };
      },
    });
  }

  #keysOf(tenantId: string): TestKey[] {
    const ofTenant = this.ofTenants.get(tenantId);
    return tenantId === '' ? this.keys : ofTenant === undefined ? [] : [ofTenant];
  }
}
