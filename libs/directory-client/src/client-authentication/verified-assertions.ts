import { hash } from 'node:crypto';
import { boundedCache, type BoundedCache, type Clock, type Random } from '@tessera/kit';
import type { CallOptions, Client } from '@tessera/rpc';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { RequestedIssuer } from '../directory-client-types.ts';

/** The maximum age, so that a key that its issuer withdraws is not believed for much longer. */
const maximumAgeMs = 600_000;

/** In assertions; a workload has one at a time. */
const capacity = 25_000;

/** An assertion as it was sent. */
export interface SentAssertion {
  readonly assertion: string;
  readonly assertionType: string;
  /** Empty if none was sent. */
  readonly clientId: string;
}

/** Whom the directory takes the sender for. */
export interface AssertedClient {
  /** With a refusal, of the application that was found before the check that failed; empty if there was none. */
  readonly clientId: string;
  /** Which check failed; empty if none did. */
  readonly refusal: string;
  readonly tenantId: string;
}

interface Verified extends AssertedClient {
  readonly verifiedAt: number;
  readonly until: number;
}

/**
 * Assertions that the directory has verified and that may be used again, as digests with a key that exists only in this
 * process. Those that count once are verified each time.
 */
export class VerifiedAssertions {
  readonly #directory: Client<typeof DirectoryService>;
  readonly #clock: Clock;
  readonly #maxAge: () => number;
  readonly #key: string;
  readonly #verified: BoundedCache<Verified> = boundedCache(capacity);
  /** Counts changes: what was asked before one is not kept, because the answer may be older than it. */
  #version = 0;

  constructor(deps: {
    readonly directory: Client<typeof DirectoryService>;
    readonly clock: Clock;
    readonly random: Random;
    /** Whether changes reach this process now; if not, nothing is trusted for longer than `unwatchedMs`. */
    readonly watched: () => boolean;
    readonly unwatchedMs: number;
  }) {
    this.#directory = deps.directory;
    this.#clock = deps.clock;
    this.#maxAge = () => (deps.watched() ? maximumAgeMs : deps.unwatchedMs);
    this.#key = deps.random.bytes(32).toString('base64url');
  }

  /** Throws `temporarily_unavailable` if the directory or the keys of the signer are unavailable. */
  async verify(
    { assertion, assertionType, clientId }: SentAssertion,
    { ipAddress, at }: { readonly ipAddress: string; readonly at: RequestedIssuer },
    call: CallOptions,
  ): Promise<AssertedClient> {
    const { issuer, tenantId } = at;
    const said = [this.#key, assertionType, clientId, issuer, tenantId, assertion].join('\0');
    const digest = hash('sha256', said, 'base64url');
    const known = this.#verified.get(digest);
    const now = this.#clock.now();
    const age = now - (known?.verifiedAt ?? 0);
    if (known !== undefined && now < known.until && age >= 0 && age <= this.#maxAge()) return known;
    const version = this.#version;
    const asked = { assertion, assertionType, clientId, issuer, tenantId, ipAddress };
    const answer = await this.#directory.verifyClientAssertion(asked, call);
    const result = { clientId: answer.clientId, refusal: answer.refusal, tenantId: answer.tenantId };
    const until = Number(answer.reusableUntilMs);
    if (result.refusal === '' && until > now && version === this.#version)
      this.#verified.set(digest, { ...result, until, verifiedAt: now });
    return result;
  }

  /** Its keys or trusts may have changed. */
  drop(clientId: string): void {
    this.#dropWhere((verified) => verified.clientId === clientId);
  }

  dropTenant(tenantId: string): void {
    this.#dropWhere((verified) => verified.tenantId === tenantId);
  }

  clear(): void {
    this.#version += 1;
    this.#verified.clear();
  }

  #dropWhere(matches: (verified: Verified) => boolean): void {
    this.#version += 1;
    for (const [digest, verified] of Array.from(this.#verified.entries()))
      if (matches(verified)) this.#verified.delete(digest);
  }
}
