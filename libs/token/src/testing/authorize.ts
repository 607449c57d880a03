import { hash } from 'node:crypto';
import { EventEmitter, on } from 'node:events';
import { opaquePrefix, opaqueValue, systemRandom } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import { AuthorizeService } from '@tessera/proto-gen/authorize';
import { BackchannelAuthenticationService, DeviceAuthorizationService } from '@tessera/proto-gen/device';
import { fakePeer, throughLine, type Line } from './fake.ts';

export interface FakeGrant {
  readonly tenantId: string;
  readonly clientId: string;
  readonly userId: string;
  readonly scopes: string[];
  readonly resource: string;
  readonly nonce: string;
  readonly authTime: bigint;
  readonly sessionId: string;
  readonly issuer: string;
}

export const redirectUri = 'https://app.example/cb';
export const verifier = 'v'.repeat(43);

/**
 * Codes as `authorize` keeps them: found by the owner alone, burnt by a wrong verifier or redirect URI, and given again
 * to an owner who presents them again, so that the marker in Postgres is what decides. Of a code that was given before
 * it is burnt, the owner is told both.
 */
export class FakeAuthorize {
  readonly line: Line = { cut: false };
  readonly #codes = new Map<string, { readonly grant: FakeGrant; taken: boolean; burnt: boolean }>();
  readonly #ends: {
    sequence: bigint;
    tenantId: string;
    sessionId: string;
    userId: string;
    endedAt: bigint;
  }[] = [];
  readonly #told = new EventEmitter();

  endSession(sessionId: string, userId = 'ada', tenantId = 'acme'): void {
    const sequence = BigInt(this.#ends.length + 1);
    const end = { sequence, tenantId, sessionId, userId, endedAt: BigInt(Math.floor(Date.now() / 1000)) };
    this.#ends.push(end);
    this.#told.emit('end', end);
  }

  issue(grant: FakeGrant): string {
    const code = opaqueValue(opaquePrefix.code, systemRandom);
    this.#codes.set(code, { grant, taken: false, burnt: false });
    return code;
  }

  peer() {
    return fakePeer(AuthorizeService, 'authorize', {
      redeemCode: (request) => {
        throughLine(this.line);
        const kept = this.#codes.get(request.code);
        if (kept?.grant.clientId !== request.clientId || kept.grant.tenantId !== request.tenantId) {
          throw invalidCode();
        }
        const { grant, taken: takenBefore } = kept;
        kept.burnt ||= request.codeVerifier !== verifier || request.redirectUri !== redirectUri;
        if (kept.burnt && !takenBefore) throw invalidCode();
        kept.taken = true;
        const codeHash = hash('sha256', request.code, 'buffer');
        return { grant, codeHash, takenBefore, burnt: kept.burnt };
      },
      watchSessionEnds: ({ afterSequence }, { signal }) => this.#watch(afterSequence, signal),
    });
  }

  async *#watch(after: bigint | undefined, signal: AbortSignal) {
    throughLine(this.line);
    const ends = on(this.#told, 'end', { signal });
    const newest = () => ({ sequence: BigInt(this.#ends.length) });
    const beat = setInterval(() => {
      if (!this.line.cut) this.#told.emit('end', newest());
    }, 500);
    try {
      const start = after ?? newest().sequence;
      yield { sequence: start };
      for (const end of this.#ends) if (end.sequence > start) yield end;
      for await (const [end] of ends) yield end as ReturnType<typeof newest>;
    } finally {
      clearInterval(beat);
    }
  }
}

function invalidCode(): OAuthError {
  return new OAuthError('invalid_grant', 'The authorization code is not valid.');
}

/** Grants of devices and backchannel requests: pending until a test approves them. */
export class FakeDevice {
  readonly #grants = new Map<string, FakeGrant | undefined>();

  start(prefix: string): string {
    const secret = opaqueValue(prefix, systemRandom);
    this.#grants.set(secret, undefined);
    return secret;
  }

  approve(secret: string, grant: FakeGrant): void {
    this.#grants.set(secret, grant);
  }

  peers() {
    const poll = ({ secret, clientId }: { secret: string; clientId: string }) => {
      if (!this.#grants.has(secret)) throw new OAuthError('invalid_grant', 'The code is not valid.');
      const grant = this.#grants.get(secret);
      if (grant === undefined)
        throw new OAuthError('authorization_pending', 'The person has not decided yet.');
      if (grant.clientId !== clientId) throw new OAuthError('invalid_grant', 'The code is not valid.');
      return { grant, secretHash: hash('sha256', secret, 'buffer') };
    };
    return {
      device: fakePeer(DeviceAuthorizationService, 'device', { pollDeviceAuthorization: poll }),
      backchannel: fakePeer(BackchannelAuthenticationService, 'device', {
        pollBackchannelAuthentication: poll,
      }),
    };
  }
}
