import type { AuditRow } from '@tessera/audit';

/**
 * An authorization request that waits for a person to sign in. It holds the parameters that were checked, so that the
 * same checks run again over the present records before a code is issued.
 */
export interface PendingRequest {
  /** SHA-256 of the browser identifier that owns it, hexadecimal. */
  readonly browserHash: string;
  readonly tenantId: string;
  readonly issuer: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** The only person whose sign-in serves it; empty for anybody. */
  readonly hintedUserId: string;
}

/** Pre-authorization contexts by the SHA-256 of their identifier. They may be lost; nothing is granted by one alone. */
export interface ContextStore {
  /**
   * `origin` is whom the record is held against (`addressKey`). Throws `rate_limited` where a bounded store holds too many
   * of one origin, and `temporarily_unavailable` when it holds too many at all.
   */
  save(idHash: string, request: PendingRequest, lifetimeSeconds: number, origin: string): Promise<void>;
  find(idHash: string): Promise<PendingRequest | undefined>;
  /** Removes it; true for exactly one of any number of callers. */
  take(idHash: string): Promise<boolean>;
}

/** What a code stands for. */
export interface CodeGrant {
  readonly tenantId: string;
  readonly clientId: string;
  readonly userId: string;
  readonly scopes: readonly string[];
  /** Audience of the granted API scopes; empty when there are none. */
  readonly resource: string;
  /** Empty when the request had none. */
  readonly nonce: string;
  /** Seconds since the Unix epoch, by the database's clock. */
  readonly authTime: number;
  readonly sessionId: string;
  readonly issuer: string;
}

export interface CodeRecord {
  readonly grant: CodeGrant;
  readonly codeChallenge: string;
  readonly redirectUri: string;
}

/** What an authenticated client shows together with a code. */
export interface CodePresentation {
  readonly tenantId: string;
  readonly clientId: string;
  /** S256 challenge of the verifier it sent; empty when that is not a verifier at all. */
  readonly codeChallenge: string;
  readonly redirectUri: string;
  /** Whether it proved with a secret who it is. A public client is known by the verifier alone. */
  readonly confidential: boolean;
}

export type Redemption =
  | {
      readonly outcome: 'granted';
      readonly grant: CodeGrant;
      /** It was presented rightly before. */
      readonly takenBefore: boolean;
      /** It was burnt after that: nothing may be issued for it, but its first use may have to be undone. */
      readonly burnt: boolean;
    }
  | { readonly outcome: 'unknown' | 'other_client' | 'burnt' | 'wrong_verifier' | 'wrong_redirect_uri' };

/** What a deployment or an application may set at most. */
export const longestCodeLifetimeSeconds = 600;

/** Codes by the SHA-256 of their value, hexadecimal. */
export interface CodeStore {
  /** Keeps a code for its lifetime, unless the session it rests on was dropped meanwhile. */
  save(codeHash: string, record: CodeRecord, lifetimeSeconds: number): Promise<'saved' | 'session_ended'>;
  /**
   * One atomic step. The right presentation is answered again each time while the record lives, because the durable
   * redemption marker of `token` decides which one counts. A wrong verifier or redirect URI of the right client burns
   * the code; where it was taken before and the client is confidential, this is told as what it is, a second use (RFC
   * 6749 §4.1.2). Another client changes nothing.
   */
  redeem(codeHash: string, presentation: CodePresentation): Promise<Redemption>;
  /** From now on the codes of `earlier` end with those of `later`, whichever way these end, for `lifetimeSeconds`. */
  followSession(earlier: string, later: string, lifetimeSeconds: number): Promise<void>;
  /**
   * Forgets the codes of a session and of those that it follows, and refuses new ones for them during `lifetimeSeconds`.
   * Those that were taken are burnt instead, so that a replay is still seen. Answers how many there were.
   */
  dropSession(sessionId: string, lifetimeSeconds: number): Promise<number>;
}

export interface Session {
  /** The `sid` claim. */
  readonly sessionId: string;
  readonly tenantId: string;
  readonly userId: string;
  /** Seconds since the Unix epoch, by the database's clock. */
  readonly authTime: number;
  /** Seconds, with fractions, since the person signed in, by the database's clock. */
  readonly authAge: number;
}

/** A session that is over, and those whose codes are over with it. */
export interface EndedSession {
  readonly tenantId: string;
  readonly sessionId: string;
  /** Those of the same person before it, over for less than 15 minutes: at most ten, the latest first. */
  readonly earlierSessionIds: readonly string[];
}

export interface NewSessionRecord {
  readonly sessionId: string;
  readonly tokenHash: Buffer;
  readonly tenantId: string;
  readonly userId: string;
  /** Milliseconds since the Unix epoch; undefined for the moment in which the session is made. */
  readonly signedInAt: number | undefined;
  readonly lifetimeSeconds: number;
  readonly ipAddress: string;
  readonly userAgentHash: string;
  /** Of the cookie that the browser had. */
  readonly previousTokenHash: Buffer | undefined;
}

export type SessionEnd = 'logout' | 'replaced' | 'abandoned';

/** A session that ends, and the audit row that is written only if this very call ended it. */
export interface EndingSession {
  readonly sessionId: string;
  readonly reason: SessionEnd;
  readonly audit: AuditRow;
}

/** Sessions by the SHA-256 of the cookie's value. All times are the database's. */
export interface SessionStore {
  /** The session, if it is alive; being seen is noted at most once a minute in the same statement. */
  find(tokenHash: Buffer, idleSeconds: number): Promise<Session | undefined>;
  /** The session in whatever state, for ending it. */
  identify(tokenHash: Buffer): Promise<(Session & EndedSession) | undefined>;
  /**
   * Makes a session and ends the one whose place it takes, with their audit rows, in one commit. The codes of the session
   * that the browser had end with the new one's if it is the same person's; another person's is answered as `over`. Both
   * also if it was over before, for the answer to the sign-in that ended it may not have arrived.
   */
  open(
    session: NewSessionRecord,
    audit: readonly AuditRow[],
    replaced: EndingSession | undefined,
  ): Promise<{ readonly session: Session; readonly over: EndedSession | undefined }>;
  /** Ends a session for good. False when it had ended before. */
  end(ending: EndingSession): Promise<boolean>;
  /** Removes up to `limit` sessions whose absolute end is more than a day ago. Answers how many it removed. */
  purge(limit: number): Promise<number>;
}
