import type { Limiter } from '@tessera/stores';
import { rootCall } from '@tessera/rpc';
import type { CallOptions, Client } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import {
  ApplicationType,
  ChangeKind,
  type DirectoryService,
  type WatchChangesResponse,
} from '@tessera/proto-gen/directory';
import { isActive, isServedAt } from '../access.ts';
import type { DirectoryCache } from '../directory-cache.ts';
import { SecretGuess } from './secret-guess.ts';
import { SingleFlight, type Flight } from '../single-flight.ts';
import type {
  AcceptedClients,
  ApplicationRecord,
  AuthenticationOptions,
  ClientCredentials,
} from '../directory-client-types.ts';
import type { VerifiedSecrets } from './verified-secrets.ts';

/** Why a client was refused, for audit trails. The client never sees it. */
export class ClientRefusal extends Error {
  override readonly name = 'ClientRefusal';
  readonly reason: 'invalid_client' | 'public_client';

  constructor(reason: ClientRefusal['reason']) {
    super(reason);
    this.reason = reason;
  }
}

interface SecretAttempt {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly digest: string;
  readonly ipAddress: string;
}

/** Client authentication (RFC 6749 §2.3). Every refusal has the same message, whatever its reason. */
export class ClientAuthenticator {
  readonly #directory: Client<typeof DirectoryService>;
  readonly #cache: DirectoryCache;
  readonly #secrets: VerifiedSecrets;
  readonly #limiter: Limiter | undefined;
  readonly #verifications = new SingleFlight<ApplicationRecord | undefined>();

  constructor(deps: {
    readonly directory: Client<typeof DirectoryService>;
    readonly cache: DirectoryCache;
    readonly secrets: VerifiedSecrets;
    readonly limiter: Limiter | undefined;
  }) {
    this.#directory = deps.directory;
    this.#cache = deps.cache;
    this.#secrets = deps.secrets;
    this.#limiter = deps.limiter;
  }

  async authenticate(
    { clientId, clientSecret = '' }: ClientCredentials,
    { ipAddress, accepts = 'public', at }: AuthenticationOptions,
    call: CallOptions,
  ): Promise<ApplicationRecord> {
    const client = await this.#identify({ clientId, clientSecret, ipAddress }, accepts, call);
    if (!isServedAt(client.tenant, at)) throw invalidClient('invalid_client');
    return client;
  }

  async #identify(
    { clientId, clientSecret, ipAddress }: Omit<SecretAttempt, 'digest'>,
    accepts: AcceptedClients,
    call: CallOptions,
  ): Promise<ApplicationRecord> {
    if (clientSecret !== '') {
      return requireClient(
        await this.#bySecret({ clientId, clientSecret, ipAddress }, call),
        ApplicationType.CONFIDENTIAL,
      );
    }
    const client = await this.#cache.application(clientId, call);
    if (accepts === 'identified') return requireClient(client, client?.application.type);
    const identified = requireClient(client, ApplicationType.PUBLIC);
    if (accepts === 'confidential') throw invalidClient('public_client');
    return identified;
  }

  /** The results of verifications in progress are not cached, because they may be older than the change. */
  drop({ kind, tenantId, id }: WatchChangesResponse): void {
    if (kind === ChangeKind.USER) return;
    if (kind === ChangeKind.APPLICATION) this.#secrets.drop(id);
    else this.#secrets.dropTenant(tenantId);
    this.#verifications.forgetAll();
  }

  clear(): void {
    this.#secrets.clear();
    this.#verifications.forgetAll();
  }

  /** The application that has this secret; undefined if the secret is wrong. */
  async #bySecret(
    presented: { clientId: string; clientSecret: string; ipAddress: string },
    call: CallOptions,
  ): Promise<ApplicationRecord | undefined> {
    const { clientId, clientSecret, ipAddress } = presented;
    const digest = this.#secrets.digest(clientId, clientSecret);
    if (this.#secrets.has(clientId, digest)) {
      if (this.#secrets.takeReport(clientId, digest)) void this.#reportUse(clientId, clientSecret);
      return this.#cache.application(clientId, call);
    }
    // Concurrent requests with the same secret, as after a restart under load, are one attempt.
    return this.#verifications.run(`${digest} ${ipAddress}`, call, (flight, shared) =>
      this.#verify({ ...presented, digest }, shared, flight),
    );
  }

  /**
   * Reports the use of a cached secret to the directory. No caller waits for it, and it does not count as an attempt, so a
   * client is neither delayed nor refused by it.
   */
  async #reportUse(clientId: string, clientSecret: string): Promise<void> {
    try {
      const call = rootCall('secret-use');
      const { verified } = await this.#directory.verifyApplicationSecret({ clientId, clientSecret }, call);
      if (!verified) this.#secrets.drop(clientId);
    } catch {
      // The directory is unavailable; the next use is reported.
    }
  }

  /** Reads the application and verifies the secret concurrently, so that unknown and wrong take the same time. */
  async #verify(
    { clientId, clientSecret, digest, ipAddress }: SecretAttempt,
    call: CallOptions,
    flight: Flight,
  ): Promise<ApplicationRecord | undefined> {
    const guess = new SecretGuess(this.#limiter);
    await guess.begin(clientId, ipAddress);
    let client: ApplicationRecord | undefined;
    let verification;
    try {
      [client, verification] = await Promise.all([
        this.#cache.application(clientId, call),
        this.#directory.verifyApplicationSecret({ clientId, clientSecret }, call),
      ]);
    } catch (error) {
      // The secret was not checked: an attempt while the directory is unavailable must not count.
      await guess.end('withdrawn');
      throw error;
    }
    if (!verification.verified || !isAccepted(client, ApplicationType.CONFIDENTIAL)) {
      await guess.end('failed');
      return undefined;
    }
    if (!flight.forgotten) {
      const expiresAt = Number(verification.expiresAt);
      this.#secrets.add(clientId, { digest, tenantId: client.tenant.tenantId, expiresAt });
    }
    await guess.end('succeeded');
    return client;
  }
}

function isAccepted(
  client: ApplicationRecord | undefined,
  type: ApplicationType | undefined,
): client is ApplicationRecord {
  return client !== undefined && client.application.type === type && isActive(client);
}

function requireClient(
  client: ApplicationRecord | undefined,
  type: ApplicationType | undefined,
): ApplicationRecord {
  if (isAccepted(client, type)) return client;
  throw invalidClient('invalid_client');
}

function invalidClient(reason: ClientRefusal['reason']): OAuthError {
  return new OAuthError('invalid_client', 'Client authentication failed.', {
    cause: new ClientRefusal(reason),
  });
}
