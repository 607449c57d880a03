import type { CallOptions, Client } from '@tessera/rpc';
import type { Runtime } from '@tessera/process';
import type { Limiter } from '@tessera/stores';
import type { TenantIssuers } from './tenant-issuers.ts';
import type {
  Application,
  DirectoryService,
  Tenant,
  User,
  WatchChangesResponse,
} from '@tessera/proto-gen/directory';

/** The issuer that a request was sent to. */
export interface RequestedIssuer {
  readonly issuer: string;
  /** The tenant whose own issuer it is; empty at the shared issuer. */
  readonly tenantId: string;
}

/** An application and the tenant found through it. */
export interface ApplicationRecord {
  readonly application: Application;
  readonly tenant: Tenant;
}

export interface ClientCredentials {
  /** Empty for a client that only sends an assertion. */
  readonly clientId: string;
  /** Undefined or empty if none was sent (RFC 6749 §2.3.1). */
  readonly clientSecret?: string | undefined;
  /** Undefined or empty if none was sent (RFC 7521 §4.2). */
  readonly clientAssertion?: string | undefined;
  /** Or the grant type of an assertion that is a grant (RFC 7523 §2.1). */
  readonly clientAssertionType?: string | undefined;
}

/**
 * The clients that an endpoint accepts (RFC 6749 §2.1). What is sent is always verified.
 * - `confidential`: confidential clients, with their secret or an assertion
 * - `public`: also public clients, by their identifier
 * - `identified`: any client by its identifier
 */
export type AcceptedClients = 'confidential' | 'public' | 'identified';

export interface AuthenticationOptions {
  /** Of the client; wrong secrets are limited per address. */
  readonly ipAddress: string;
  /** Default: `public`. */
  readonly accepts?: AcceptedClients;
  /** Clients of tenants that are not served at this issuer are unknown. */
  readonly at: RequestedIssuer;
}

export interface DirectoryClientDeps {
  readonly directory: Client<typeof DirectoryService>;
  readonly runtime: Pick<Runtime, 'clock' | 'random' | 'log'>;
  /** Limits wrong client secrets. Only callers that never authenticate clients may omit it. */
  readonly limiter?: Limiter;
  /** Called after a changed record was dropped from the cache. */
  readonly onChange?: (change: WatchChangesResponse) => void;
  /** Called when changes may have been missed, as at the start; the cache is empty then. */
  readonly onGap?: () => void;
}

export interface DirectoryClient {
  /**
   * The application and its tenant, whatever their status; undefined if unknown. Cached; a change takes effect within a
   * second. Throws `temporarily_unavailable` if the directory is unavailable and the record not cached.
   */
  application(clientId: string, call: CallOptions): Promise<ApplicationRecord | undefined>;

  /**
   * Whether the application is cached, as it is after every look-up of one that exists. For logs, which name known
   * clients only: what was sent as an identifier may be a secret.
   */
  hasCached(clientId: string): boolean;

  /**
   * Whether a tenant exists, whatever its status. Ask before text of a request becomes part of a limit's key. Cached
   * like applications.
   */
  hasTenant(tenantId: string, call: CallOptions): Promise<boolean>;

  /** A tenant by its id; undefined if unknown. Cached like applications. */
  tenant(tenantId: string, call: CallOptions): Promise<Tenant | undefined>;

  /**
   * Whether a tenant is served at an issuer: with an issuer of its own, only there. Cached like applications; at the
   * issuer of a tenant it needs no look-up.
   */
  isTenantServedAt(tenantId: string, at: RequestedIssuer, call: CallOptions): Promise<boolean>;

  /** Tenants by their own issuers. Throws `temporarily_unavailable` if the list was never read and cannot be. */
  tenantIssuers(): Promise<TenantIssuers>;

  /** A user by its stable id within a tenant, whatever its status; undefined if unknown. Cached like applications. */
  user(tenantId: string, userId: string, call: CallOptions): Promise<User | undefined>;

  /**
   * Client authentication (RFC 6749 §2.3 and §3.2.1). Resolves with the active application and its active tenant.
   *
   * Throws `invalid_client`, always with the same message, for an unknown client, a wrong secret, a secret sent by a
   * public client, a client that `accepts` excludes, and a disabled application or tenant; the cause is a
   * `ClientRefusal`. Throws `rate_limited` with `retryAfterSeconds` after too many wrong secrets, and
   * `temporarily_unavailable` if the directory is unavailable.
   */
  authenticateClient(
    credentials: ClientCredentials,
    options: AuthenticationOptions,
    call: CallOptions,
  ): Promise<ApplicationRecord>;

  /**
   * Whether an application and its tenant, a user, or a tenant are active: neither disabled nor locked. With
   * `signedInAt` (seconds since the Unix epoch), also whether that sign-in is still valid.
   */
  isActive(record: ApplicationRecord | Application | Tenant | User, signedInAt?: number): boolean;

  /** Whether the access policy of an application allows a person of its tenant. It does not check `isActive`. */
  mayUse(application: Application, user: User): boolean;

  /** Ends the watch. Look-ups still work afterwards; their results are cached for one second. */
  close(): Promise<void>;
}
