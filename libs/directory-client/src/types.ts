import type { CallOptions, Client } from '@tessera/rpc';
import type { Kit } from '@tessera/process';
import type { Limiter } from '@tessera/stores';
import type { Application, DirectoryService, Tenant, User } from '@tessera/proto-gen/directory';

/** An application and the tenant found through it. */
export interface ApplicationRecord {
  readonly application: Application;
  readonly tenant: Tenant;
}

/** How the client presented itself (OIDC Core §9). `none`: its identifier alone. */
export type ClientAuthenticationMethod = 'client_secret_basic' | 'client_secret_post' | 'none';

export interface ClientCredentials {
  readonly clientId: string;
  /** Undefined when none was sent; an empty secret counts as none (RFC 6749 §2.3.1). */
  readonly clientSecret: string | undefined;
  readonly method: ClientAuthenticationMethod;
}

/** Where a request of the outside came from. */
export interface Caller {
  readonly ipAddress: string;
}

export interface DirectoryClientOptions {
  readonly directory: Client<typeof DirectoryService>;
  readonly kit: Pick<Kit, 'clock' | 'random' | 'log'>;
  /** Absent: guesses of client secrets are not limited here; only for callers that never authenticate clients. */
  readonly limiter?: Limiter;
}

export interface DirectoryClient {
  /**
   * The application and its tenant, whatever their status; undefined when unknown. Cached, and dropped from the cache
   * within a second of a change. Throws `temporarily_unavailable` when the directory is needed and away.
   */
  application(clientId: string, call: CallOptions): Promise<ApplicationRecord | undefined>;

  /** A user by its stable id within a tenant, whatever its status; undefined when unknown. Cached like applications. */
  user(tenantId: string, userId: string, call: CallOptions): Promise<User | undefined>;

  /**
   * Client authentication (RFC 6749 §2.3 and §3.2.1). Resolves with the active application and its active tenant.
   *
   * Throws `invalid_client`, with one and the same message, for an unknown client, a wrong secret, a missing secret of a
   * confidential client, a secret sent by a public client, a disabled application or tenant; `rate_limited` with
   * `retryAfterSeconds` when secrets are being guessed; `temporarily_unavailable` when the directory is away.
   */
  authenticateClient(
    credentials: ClientCredentials,
    caller: Caller,
    call: CallOptions,
  ): Promise<ApplicationRecord>;

  /**
   * Whether an application and its tenant, or a user, or a tenant, are active: neither disabled nor locked. With
   * `signedInAt` (seconds since the Unix epoch), whether that sign-in still counts for them.
   */
  isActive(record: ApplicationRecord | Application | Tenant | User, signedInAt?: number): boolean;

  /** Whether the access policy of an application lets a person of its tenant in; what is active is another question. */
  mayUse(application: Application, user: User): boolean;

  /** Ends the watch. Look-ups after it still work; what they find is trusted for one second. */
  close(): Promise<void>;
}
