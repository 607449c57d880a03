import type { AuditRow } from '@tessera/audit';
import type { Authentication } from '@tessera/proto-gen/oauth';

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
