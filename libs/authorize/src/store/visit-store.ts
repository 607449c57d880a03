import { OAuthError } from '@tessera/oauth';
import type { UserGrant } from '@tessera/proto-gen/oauth';
import type { UpstreamSession } from './session-store.ts';

/** What a browser visits us for: the authorization request of a client, or a page of ours. */
export const purposes = [
  'code',
  'device',
  'approvals',
  'password',
  'account',
  'account_change',
  'add_passkey',
  'add_totp',
  'new_recovery_codes',
] as const;

export type Purpose = (typeof purposes)[number];

/** A browser that was sent to a provider of its tenant. */
export interface Departure {
  /** Name of the provider. */
  readonly provider: string;
  /** As it was declared then. */
  readonly issuer: string;
  /** SHA-256, hexadecimal, of what the answer must bring back. */
  readonly ticketHash: string;
  /** Milliseconds since the Unix epoch, by the clock of the process. */
  readonly leftAt: number;
  /** What the gateway needs to go on; empty if it needs nothing. */
  readonly resume: string;
  /** The session whose person links what the provider proves, and nobody signs in; undefined for a sign-in. */
  readonly linkSessionId?: string | undefined;
}

/** Who is known in a visit, and how. */
export interface KnownPerson {
  readonly userId: string;
  /**
   * When they were identified: milliseconds since the Unix epoch, by the directory's clock; undefined from an older
   * one.
   */
  readonly signedInAt?: number | undefined;
  /** Values of the `amr` claim (RFC 8176 §2). */
  readonly methods: readonly string[];
  /** The session that knows them; absent if a step of this visit identified them. */
  readonly sessionId?: string | undefined;
  /** Absent unless a provider identified them in this visit. */
  readonly upstream?: UpstreamSession | undefined;
}

/**
 * A browser's visit, from its first request until the person is signed in and has taken every step that is required. Of
 * an authorization request it holds the parameters that were checked, so that the same checks run again over the
 * current records before a code is issued.
 */
export interface Visit {
  readonly purpose: Purpose;
  /** SHA-256 of the browser identifier that owns it, hexadecimal. */
  readonly browserHash: string;
  readonly tenantId: string;
  readonly issuer: string;
  /** Of the authorization request; none at our own pages. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The only person whose sign-in satisfies it; empty for anyone. */
  readonly hintedUserId: string;
  readonly person?: KnownPerson | undefined;
  /** Random, and known to this visit alone. */
  readonly seed: string;
  /** Time step of the first code of an app that is not enrolled yet (RFC 6238 §4.2). */
  readonly totpStep?: number | undefined;
  /** Whether the browser has said that it can make passkeys, and that the person has not put it off. */
  readonly makesPasskeys?: boolean | undefined;
  /** The last time that the browser was sent to a provider. */
  readonly departure?: Departure | undefined;
  /** What steps have sent for it, by their names, in words of their own. */
  readonly sent?: Readonly<Record<string, string>> | undefined;
  /** Names of the steps that the person has taken. */
  readonly done: readonly string[];
}

/** Visits by the SHA-256 of their identifier. They may be lost; none grants anything by itself. */
export interface VisitStore {
  /**
   * `origin` is the address whose quota the record counts against (`addressKey`). In one step with the write it throws
   * `rate_limited` if that address has its quota of open visits; a bounded store throws `temporarily_unavailable` if it
   * is full.
   */
  save(idHash: string, visit: Visit, lifetimeSeconds: number, origin: string): Promise<void>;
  find(idHash: string): Promise<Visit | undefined>;
  /** Replaces it for the rest of its lifetime; false if it has ended. */
  update(idHash: string, visit: Visit): Promise<boolean>;
  /** Ends it and keeps its answer instead, for `lifetimeSeconds`; true for exactly one of any number of callers. */
  answer(idHash: string, answered: AnsweredVisit, lifetimeSeconds: number): Promise<boolean>;
  /** What `answer` kept. */
  findAnswered(idHash: string): Promise<AnsweredVisit | undefined>;
  /** Keeps a later answer instead of the one that is kept, if there still is one. */
  answerAgain(idHash: string, answered: AnsweredVisit, lifetimeSeconds: number): Promise<void>;
}

/** A visit that has ended. The answer may be lost on its way, so the form of its last step may come again. */
export interface AnsweredVisit {
  /** The visit as it was before its last step. */
  readonly request: Visit;
  /** Of the code in the answer; empty if it was an error. */
  readonly codeHash: string;
  /** The session of that sign-in. */
  readonly sessionId: string;
  readonly userId: string;
}

/** The answer to an address that has its quota of open visits. */
export function tooManyPending(retryAfterSeconds: number): OAuthError {
  return new OAuthError('rate_limited', 'Too many requests. Try again later.', { retryAfterSeconds });
}

/** A visit to be ended as `answer` does. */
export interface EndingVisit {
  readonly idHash: string;
  readonly answered: AnsweredVisit;
  readonly lifetimeSeconds: number;
}

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
