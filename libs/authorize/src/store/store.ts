import type { AuditRow } from '@tessera/audit';
import { OAuthError } from '@tessera/oauth';
import type { Authentication, UserGrant } from '@tessera/proto-gen/oauth';

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

/** The session at a provider that a person signed in with. */
export interface UpstreamSession {
  /** Name of the provider, and `iss` and `sub` of its ID token. */
  readonly provider: string;
  readonly issuer: string;
  readonly subject: string;
  /** Its `sid`, if it has one (OIDC Back-Channel Logout §2.1). */
  readonly sid?: string | undefined;
  /** The ID token, encrypted; absent if it is too long to be kept. */
  readonly hint?: string | undefined;
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

/** A visit to be ended as `answer` does. */
export interface EndingVisit {
  readonly idHash: string;
  readonly answered: AnsweredVisit;
  readonly lifetimeSeconds: number;
}

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

export interface Session {
  /** The `sid` claim. */
  readonly sessionId: string;
  readonly tenantId: string;
  readonly userId: string;
  readonly authentication: Authentication;
  /** Seconds, with fractions, since the person signed in, by the database's clock. */
  readonly authAge: number;
}

/** An ended session, and the sessions whose codes end with it. */
export interface EndedSession {
  readonly tenantId: string;
  readonly sessionId: string;
  /** Earlier sessions of the same person that ended less than 15 minutes ago: at most ten, the latest first. */
  readonly earlierSessionIds: readonly string[];
}

export interface NewSessionRecord {
  readonly sessionId: string;
  readonly tokenHash: Buffer;
  readonly tenantId: string;
  readonly userId: string;
  /** Milliseconds since the Unix epoch; undefined means now. */
  readonly signedInAt: number | undefined;
  /** How the person signed in: the `amr` claim (RFC 8176 §2). */
  readonly methods: readonly string[];
  /** Absent: that of the session that it replaces, if this one also relies on a provider. */
  readonly upstream?: UpstreamSession | undefined;
  readonly lifetimeSeconds: number;
  readonly ipAddress: string;
  readonly userAgentHash: string;
  /** Empty if it is not known. */
  readonly userAgent: string;
  /** Of the cookie that the browser had. */
  readonly previousTokenHash: Buffer | undefined;
  /** SHA-256 of the known-browser cookie's value. */
  readonly knownBrowserHash: Buffer;
}

/**
 * `invalidated`: the person was disabled or locked, or a change invalidated earlier sign-ins. `administrator`: one
 * ended it. `application`: one did that had a refresh token of it. `elsewhere`: the person did, in another browser.
 * `provider`: the one that they signed in with did.
 */
export type SessionEndReason =
  | 'administrator'
  | 'application'
  | 'elsewhere'
  | 'logout'
  | 'replaced'
  | 'abandoned'
  | 'invalidated'
  | 'provider';

/** A session to end, and the audit row that is written only if this call ends it. */
export interface EndingSession {
  readonly sessionId: string;
  readonly reason: SessionEndReason;
  /** Of the call that ends it; empty without one. */
  readonly requestId: string;
  readonly audit: AuditRow;
}

/** An application that got a code in a session and is notified of its end. */
export interface Participant {
  readonly clientId: string;
  readonly issuer: string;
}

/** Which sessions to look at; an absent field matches all. */
export interface SessionScope {
  readonly tenantId?: string;
  readonly userId?: string;
}

/** A session of a tenant. */
export type SessionId = Pick<Session, 'tenantId' | 'sessionId'>;

/** A session as its person and administrators see it; times are milliseconds since the Unix epoch. */
export interface LiveSession extends Session {
  readonly ipAddress: string;
  readonly userAgentHash: string;
  /** Empty if it is not known. */
  readonly userAgent: string;
  readonly createdAt: number;
  readonly lastSeenAt: number;
  readonly expiresAt: number;
}

/** Sessions of a tenant that were used within the idle time; `userIds` absent: of everybody. */
export interface LiveScope {
  readonly tenantId: string;
  readonly userIds?: readonly string[] | undefined;
  readonly idleSeconds: number;
}

/** The session that a page of sessions follows. */
export type SessionPosition = Pick<Session, 'tenantId' | 'userId' | 'sessionId'>;

/** Before all sessions. */
export const firstPosition: SessionPosition = { tenantId: '', userId: '', sessionId: '' };

/** A session, live or ended, with what ends with it. */
export interface IdentifiedSession extends Session, EndedSession {
  readonly upstream: UpstreamSession | undefined;
}

/** Sessions by the SHA-256 of the cookie's value. All times are the database's. */
export interface SessionStore {
  /** The session, if it is live; the same statement records its use at most once a minute. */
  find(tokenHash: Buffer, idleSeconds: number): Promise<Session | undefined>;
  /** The session, live or ended, in order to end it. */
  identify(by: Buffer | SessionId): Promise<IdentifiedSession | undefined>;
  /**
   * Creates a session, remembers its browser for the person and ends the session that it replaces, with their audit
   * rows, in one commit. If the replaced session was the same person's, its codes end with the new one's; another
   * person's is returned as `over`. Both hold for a session that had ended before, because the response of the sign-in
   * that ended it may not have arrived.
   */
  open(
    session: NewSessionRecord,
    audit: readonly AuditRow[],
    replaced: EndingSession | undefined,
  ): Promise<{ readonly session: Session; readonly over: EndedSession | undefined }>;
  /**
   * Ends a session, with a notice for each of its participants in the same commit. So does `open` for the session of
   * another person; participants of the same person's move to the new session. False if it had ended before.
   */
  end(ending: EndingSession): Promise<boolean>;
  /** Remembers a participant. False if the session has ended. */
  participate(sessionId: string, participant: Participant): Promise<boolean>;
  /**
   * Up to `limit` sessions that have participants and are neither ended nor expired, in order of tenants, users and
   * ids.
   */
  withParticipants(scope: SessionScope, after: SessionPosition, limit: number): Promise<Session[]>;
  /**
   * Up to `limit` sessions of a tenant, or of these people of it, that have neither ended nor expired, in order of
   * users and ids. Whether their people may use them is not known here.
   */
  live(scope: LiveScope, after: SessionPosition, limit: number): Promise<LiveSession[]>;
  /** Removes up to `limit` sessions whose absolute end is more than a day ago. Returns how many it removed. */
  purge(limit: number): Promise<number>;
}
