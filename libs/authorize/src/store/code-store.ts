import type { UserGrant } from '@tessera/proto-gen/oauth';
import type { EndingVisit } from './visit-store.ts';

export interface CodeRecord {
  readonly grant: UserGrant;
  readonly codeChallenge: string;
  readonly redirectUri: string;
}

/** What an authenticated client presents together with a code. */
export interface CodePresentation {
  readonly tenantId: string;
  readonly clientId: string;
  /** S256 challenge of the verifier it sent; empty without one. */
  readonly codeChallenge: string;
  readonly redirectUri: string;
  /** Whether it authenticated with a secret. Only the verifier proves a public client. */
  readonly confidential: boolean;
}

export type Redemption =
  | {
      readonly outcome: 'granted';
      readonly grant: UserGrant;
      /** It was presented correctly before. */
      readonly takenBefore: boolean;
      /**
       * It was burnt after that: nothing may be issued for it, and what its first use issued may have to be revoked.
       */
      readonly burnt: boolean;
    }
  | { readonly outcome: 'unknown' | 'other_client' | 'burnt' | 'wrong_verifier' | 'wrong_redirect_uri' };

/** The longest lifetime that a deployment or an application may set. */
export const longestCodeLifetimeSeconds = 600;

/** Codes by the SHA-256 of their value, hexadecimal. */
export interface CodeStore {
  /**
   * Saves a code for its lifetime, unless its session was dropped meanwhile. With the visit that it answers, both
   * happen or neither: no code is saved for a visit that has ended.
   */
  save(
    codeHash: string,
    record: CodeRecord,
    lifetimeSeconds: number,
    ending?: EndingVisit,
  ): Promise<'saved' | 'session_ended' | 'visit_ended'>;
  /**
   * One atomic step. A correct presentation succeeds again as long as the record lives, because the durable
   * redemption marker of `token` decides which one counts. A wrong verifier or redirect URI of the right client burns
   * the code; if it was taken before and the client is confidential, this is reported as a second use (RFC
   * 6749 §4.1.2). Another client changes nothing.
   */
  redeem(codeHash: string, presentation: CodePresentation): Promise<Redemption>;
  /** Deletes a code that was never presented by its client; true for exactly one of any number of callers. */
  withdraw(codeHash: string): Promise<boolean>;
  /** For `lifetimeSeconds`, the codes of `earlier` end whenever those of `later` do. */
  followSession(earlier: string, later: string, lifetimeSeconds: number): Promise<void>;
  /**
   * Drops the codes of a session and of those that it follows, and rejects new ones for them during `lifetimeSeconds`.
   * Codes that were taken are burnt instead, so that a replay is still detected. Returns how many there were.
   */
  dropSession(sessionId: string, lifetimeSeconds: number): Promise<number>;
}
