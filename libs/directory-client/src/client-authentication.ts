import { hash } from 'node:crypto';
import { addressKey, type Limiter, type LimitRule } from '@tessera/stores';
import { rootCall } from '@tessera/rpc';
import type { CallOptions, Client } from '@tessera/rpc';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import {
  ApplicationType,
  ChangeKind,
  type DirectoryService,
  type WatchChangesResponse,
} from '@tessera/proto-gen/directory';
import { isActive, isServedAt } from './access.ts';
import type { DirectoryCache } from './directory-cache.ts';
import { SingleFlight, type Flight } from './single-flight.ts';
import type {
  AcceptedClients,
  ApplicationRecord,
  AuthenticationOptions,
  ClientCredentials,
} from './directory-client-types.ts';
import type { VerifiedSecrets } from './verified-secrets.ts';

const perClientAndAddress = { name: 'client-secret.application', limit: 20, windowSeconds: 300 };
/**
 * Over all addresses. Beyond it, every address has five attempts instead of twenty. It is not zero, because guesses from
 * many addresses must not lock out the client itself, which needs one attempt per process.
 */
const perClient = { name: 'client-secret.client', limit: 500, windowSeconds: 300 };
const underAttack = { ...perClientAndAddress, limit: 5 };
/** Higher, because many applications behind one address may have a wrong secret. */
const perAddress = { name: 'client-secret.address', limit: 300, windowSeconds: 300 };

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

  constructor(parts: {
    readonly directory: Client<typeof DirectoryService>;
    readonly cache: DirectoryCache;
    readonly secrets: VerifiedSecrets;
    readonly limiter: Limiter | undefined;
  }) {
    this.#directory = parts.directory;
    this.#cache = parts.cache;
    this.#secrets = parts.secrets;
    this.#limiter = parts.limiter;
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
   * Reports the use of a cached secret to the directory. Nobody waits for it and it does not count as an attempt, so a
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
    const keys = {
      both: hash('sha256', `${clientId}\0${addressKey(ipAddress)}`, 'base64url'),
      address: addressKey(ipAddress),
      client: clientId,
    };
    const guess = new Guess(this.#limiter);
    await guess.begin(keys);
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
    await guess.end('withdrawn', perClientAndAddress);
    return client;
  }
}

/** A guess of a secret on its limits: those of the address, of the client, and of both together. */
class Guess {
  readonly #limiter: Limiter | undefined;
  readonly #begun: Counted[] = [];

  constructor(limiter: Limiter | undefined) {
    this.#limiter = limiter;
  }

  /**
   * Counts before the check, so that concurrent guesses are limited like consecutive ones. Throws `rate_limited` after too
   * many failed guesses, `temporarily_unavailable` while too many are in progress.
   */
  async begin(keys: {
    readonly both: string;
    readonly address: string;
    readonly client: string;
  }): Promise<void> {
    const limiter = this.#limiter;
    if (limiter === undefined) return;
    await this.#count(limiter, perAddress, keys.address);
    const ofClient = await limiter.beginGuess(perClient, keys.client, { wait: false });
    if (ofClient.allowed) this.#begun.push({ rule: perClient, key: keys.client });
    await this.#count(limiter, ofClient.allowed ? perClientAndAddress : underAttack, keys.both);
  }

  /** @param forgiven the rule whose failed guesses are forgotten; an attacker with one valid client must gain none on the others */
  async end(outcome: 'failed' | 'withdrawn', forgiven?: LimitRule): Promise<void> {
    const limiter = this.#limiter;
    if (limiter === undefined) return;
    await Promise.all(
      this.#begun.map(({ rule, key }) =>
        limiter.endGuess(rule, key, rule.name === forgiven?.name ? 'forgiven' : outcome),
      ),
    );
  }

  async #count(limiter: Limiter, rule: LimitRule, key: string): Promise<void> {
    const { allowed, busy, retryAfterSeconds } = await limiter.beginGuess(rule, key);
    if (allowed) {
      this.#begun.push({ rule, key });
      return;
    }
    // It is not checked, so it is no guess.
    await this.end('withdrawn');
    if (busy)
      throw temporarilyUnavailable(new Error('Too many secrets are being verified.'), retryAfterSeconds);
    throw new OAuthError('rate_limited', 'Too many attempts. Try again later.', { retryAfterSeconds });
  }
}

interface Counted {
  readonly rule: LimitRule;
  readonly key: string;
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
