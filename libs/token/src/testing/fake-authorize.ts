import { hash } from 'node:crypto';
import { EventEmitter, on } from 'node:events';
import { opaqueValue, systemRandom } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import { AuthorizeService } from '@tessera/proto-gen/authorize';
import { BackchannelAuthenticationService, DeviceAuthorizationService } from '@tessera/proto-gen/device';
import { fakePeer, throughLine, type Line } from './fake-peer.ts';
import { FakeNotices } from './fake-notices.ts';

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
  readonly userinfoClaims?: string[];
  readonly idTokenClaims?: string[];
}

/** As `authorize` and `device` send it. */
function userGrantOf({ authTime, ...grant }: FakeGrant) {
  const methods = grant.sessionId === '' ? [] : ['pwd'];
  return { ...grant, authentication: { time: Number(authTime), methods } };
}

export const redirectUri = 'https://app.example/cb';
export const verifier = 'v'.repeat(43);

/**
 * Codes as `authorize` keeps them: found only by their client, invalidated ("burnt") by a wrong verifier or redirect
 * URI, and returned again to a client that presents them again, so that the marker in Postgres decides. For a code that
 * was returned before it was burnt, both facts are reported.
 */
export class FakeAuthorize {
  readonly line: Line = { cut: false };
  readonly notices = new FakeNotices();
  /** How long sessions still live, in seconds; those that `endSession` ended do not. */
  lifetimes = { idleSeconds: 3_600, remainingSeconds: 43_200 };
  /** Sessions that applications ended, with the address of each. */
  readonly endedByApplications: string[] = [];
  /** How often sessions were used. */
  uses = 0;
  /** Called for each code before it is redeemed. */
  beforeRedeem: (() => Promise<void>) | undefined;
  readonly #codes = new Map<string, { readonly grant: FakeGrant; taken: boolean; burnt: boolean }>();
  readonly #ends: {
    sequence: bigint;
    tenantId: string;
    sessionId: string;
    userId: string;
    endedAt: bigint;
  }[] = [];
  readonly #events = new EventEmitter();

  endSession(sessionId: string, userId = 'ada', tenantId = 'acme'): void {
    const sequence = BigInt(this.#ends.length + 1);
    const end = { sequence, tenantId, sessionId, userId, endedAt: BigInt(Math.floor(Date.now() / 1000)) };
    this.#ends.push(end);
    this.#events.emit('end', end);
  }

  issue(grant: FakeGrant): string {
    const code = opaqueValue('tc_', systemRandom);
    this.#codes.set(code, { grant, taken: false, burnt: false });
    return code;
  }

  peer() {
    return fakePeer(AuthorizeService, {
      ...this.notices.handlers(),
      redeemCode: async (request) => {
        throughLine(this.line);
        await this.beforeRedeem?.();
        const kept = this.#codes.get(request.code);
        if (kept?.grant.clientId !== request.clientId || kept.grant.tenantId !== request.tenantId) {
          throw invalidCode();
        }
        const { grant, taken: takenBefore } = kept;
        const wrong = request.codeVerifier !== verifier || request.redirectUri !== redirectUri;
        kept.burnt ||= wrong;
        if (wrong ? !(takenBefore && request.confidential) : kept.burnt && !takenBefore) throw invalidCode();
        kept.taken = true;
        const codeHash = hash('sha256', request.code, 'buffer');
        return { userGrant: userGrantOf(grant), codeHash, takenBefore, burnt: kept.burnt };
      },
      checkSessions: ({ tenantId, sessionIds, uses }) => {
        throughLine(this.line);
        if (uses) this.uses += 1;
        const live = sessionIds.filter((id) => !this.#hasEnded(tenantId, id));
        return { sessions: live.map((sessionId) => ({ sessionId, ...this.lifetimes })) };
      },
      endSessionOfGrant: ({ tenantId, sessionId, clientId, ipAddress }) => {
        throughLine(this.line);
        this.endSession(sessionId, 'ada', tenantId);
        this.endedByApplications.push(`${clientId} ${ipAddress} ${sessionId}`);
        return { session: { tenantId, sessionId, earlierSessionIds: [`before-${sessionId}`] } };
      },
      watchSessionEnds: ({ afterSequence, since }, { signal }) => this.#watch(afterSequence, since, signal),
    });
  }

  #hasEnded(tenantId: string, sessionId: string): boolean {
    return this.#ends.some((end) => end.tenantId === tenantId && end.sessionId === sessionId);
  }

  async *#watch(after: bigint | undefined, since: bigint, signal: AbortSignal) {
    throughLine(this.line);
    const ends = on(this.#events, 'end', { signal });
    const newest = () => ({ sequence: BigInt(this.#ends.length) });
    const beat = setInterval(() => {
      if (!this.line.cut) this.#events.emit('end', newest());
    }, 500);
    try {
      const recent = this.#ends.find(({ endedAt }) => since > 0n && endedAt >= since);
      const start = after ?? (recent === undefined ? newest().sequence : recent.sequence - 1n);
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
      const userGrant = userGrantOf({ ...grant, nonce: '' });
      return { userGrant, secretHash: hash('sha256', secret, 'buffer') };
    };
    return {
      device: fakePeer(DeviceAuthorizationService, { pollDeviceAuthorization: poll }),
      backchannel: fakePeer(BackchannelAuthenticationService, { pollBackchannelAuthentication: poll }),
    };
  }
}
