import type { Limiter } from '@tessera/stores';
import { rootCall } from '@tessera/rpc';
import type { CallOptions, Client } from '@tessera/rpc';
import { assertionRefusals, isAssertionRefusal, OAuthError } from '@tessera/oauth';
import {
  ApplicationType,
  ChangeKind,
  type DirectoryService,
  type WatchChangesResponse,
} from '@tessera/proto-gen/directory';
import { isActive, isServedAt } from '../access.ts';
import type { DirectoryCache } from '../directory-cache.ts';
import { receivedAudience } from './refused-client.ts';
import { SecretGuess } from './secret-guess.ts';
import { SingleFlight, type Flight } from '../single-flight.ts';
import type {
  AcceptedClients,
  ApplicationRecord,
  AuthenticationOptions,
  ClientCredentials,
} from '../directory-client-types.ts';
import type { SentAssertion, VerifiedAssertions } from './verified-assertions.ts';
import type { VerifiedSecrets } from './verified-secrets.ts';

/** Why a client is refused, and what may be changed. */
const hints = {
  unknown_client: 'No application has this client_id. Its tenant may have another issuer.',
  application_inactive: 'The application or its tenant is disabled.',
  secret_mismatch:
    'It is none of the secrets of the application. tessera secret list says when each was declared and expires.',
  no_secret:
    'The application is confidential. Send its secret as client_secret_basic or client_secret_post, or an assertion.',
  unexpected_secret: 'The application is public. Send no secret, or declare it confidential.',
  public_client: 'This is for confidential applications.',
  other_issuer: 'The tenant of the application is served at another issuer.',
  ...assertionRefusals,
} as const;

export type ClientRefusalReason = keyof typeof hints;

/** Why a client was refused, for audit trails. The client never sees it. */
export class ClientRefusal extends Error {
  override readonly name = 'ClientRefusal';
  readonly reason: ClientRefusalReason;
  /** Of the application that the client names or proves to be; undefined if there is none. */
  readonly tenantId: string | undefined;
  readonly clientId: string | undefined;

  constructor(reason: ClientRefusalReason, client: ApplicationRecord | undefined) {
    super(reason);
    this.reason = reason;
    this.tenantId = client?.tenant.tenantId;
    this.clientId = client?.application.clientId;
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
  readonly #assertions: VerifiedAssertions;
  readonly #limiter: Limiter | undefined;
  readonly #verifications = new SingleFlight<Identified>();

  constructor(deps: {
    readonly directory: Client<typeof DirectoryService>;
    readonly cache: DirectoryCache;
    readonly secrets: VerifiedSecrets;
    readonly assertions: VerifiedAssertions;
    readonly limiter: Limiter | undefined;
  }) {
    this.#directory = deps.directory;
    this.#cache = deps.cache;
    this.#secrets = deps.secrets;
    this.#assertions = deps.assertions;
    this.#limiter = deps.limiter;
  }

  async authenticate(
    { clientId, clientSecret = '', clientAssertion = '', clientAssertionType = '' }: ClientCredentials,
    { ipAddress, accepts = 'public', at }: AuthenticationOptions,
    call: CallOptions,
  ): Promise<ApplicationRecord> {
    const client = await (clientAssertion === ''
      ? this.#identify({ clientId, clientSecret, ipAddress }, accepts, call)
      : this.#byAssertion(
          { clientId, assertion: clientAssertion, assertionType: clientAssertionType },
          { ipAddress, at },
          call,
        ));
    if (!isServedAt(client.tenant, at)) throw invalidClient(new ClientRefusal('other_issuer', client));
    return client;
  }

  /** An application that proves who it is needs no secret. A `clientId` that was sent has been compared. */
  async #byAssertion(
    sent: SentAssertion,
    from: Pick<AuthenticationOptions, 'ipAddress' | 'at'>,
    call: CallOptions,
  ): Promise<ApplicationRecord> {
    const { clientId, refusal } = await this.#assertions.verify(sent, from, call);
    const client = clientId === '' ? undefined : await this.#cache.application(clientId, call);
    if (refusal !== '') {
      const reason = isAssertionRefusal(refusal) ? refusal : 'assertion_trust';
      const received = reason === 'assertion_audience' ? receivedAudience(sent.assertion) : undefined;
      throw invalidClient(new ClientRefusal(reason, client), received);
    }
    return requireClient(client, { secret: true });
  }

  async #identify(
    { clientId, clientSecret, ipAddress }: Omit<SecretAttempt, 'digest'>,
    accepts: AcceptedClients,
    call: CallOptions,
  ): Promise<ApplicationRecord> {
    if (clientSecret !== '') {
      const identified = await this.#bySecret({ clientId, clientSecret, ipAddress }, call);
      if (identified instanceof ClientRefusal) throw invalidClient(identified);
      return requireClient(identified, { secret: true });
    }
    const client = await this.#cache.application(clientId, call);
    if (accepts === 'identified') return requireClient(client, { secret: undefined });
    const identified = requireClient(client, { secret: false });
    if (accepts === 'confidential') throw invalidClient(new ClientRefusal('public_client', identified));
    return identified;
  }

  /** The results of verifications in progress are not cached, because they may be older than the change. */
  drop({ kind, tenantId, id }: WatchChangesResponse): void {
    if (kind === ChangeKind.USER) return;
    if (kind === ChangeKind.APPLICATION) {
      this.#secrets.drop(id);
      this.#assertions.drop(id);
    } else {
      this.#secrets.dropTenant(tenantId);
      this.#assertions.dropTenant(tenantId);
    }
    this.#verifications.forgetAll();
  }

  clear(): void {
    this.#secrets.clear();
    this.#assertions.clear();
    this.#verifications.forgetAll();
  }

  /** The application that has this secret, or why it is refused. */
  async #bySecret(
    presented: { clientId: string; clientSecret: string; ipAddress: string },
    call: CallOptions,
  ): Promise<Identified> {
    const { clientId, clientSecret, ipAddress } = presented;
    const digest = this.#secrets.digest(clientId, clientSecret);
    if (this.#secrets.has(clientId, digest)) {
      if (this.#secrets.takeReport(clientId, digest)) void this.#reportUse(clientId, clientSecret);
      const client = await this.#cache.application(clientId, call);
      return client ?? new ClientRefusal('unknown_client', undefined);
    }
    // Concurrent requests with the same secret, as after a restart under load, are one attempt.
    return this.#verifications.run(`${digest} ${ipAddress}`, call, (flight, shared) =>
      this.#verify({ ...presented, digest }, shared, flight),
    );
  }

  /**
   * Reports the use of a cached secret to the directory. No caller waits for it, and it does not count as an attempt,
   * so a client is neither delayed nor refused by it.
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
  ): Promise<Identified> {
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
    const refused = refusedAs(client, { secret: true });
    if (client === undefined || refused !== undefined || !verification.verified) {
      await guess.end('failed');
      return refused ?? new ClientRefusal('secret_mismatch', client);
    }
    if (!flight.forgotten) {
      const expiresAt = Number(verification.expiresAt);
      this.#secrets.add(clientId, { digest, tenantId: client.tenant.tenantId, expiresAt });
    }
    await guess.end('succeeded');
    return client;
  }
}

/** An application, or why its client is refused. */
type Identified = ApplicationRecord | ClientRefusal;

/**
 * Why an application is refused; undefined if it is not.
 * @param secret whether its client sent one; undefined: its identifier is enough
 */
function refusedAs(
  client: ApplicationRecord | undefined,
  { secret }: { readonly secret: boolean | undefined },
): ClientRefusal | undefined {
  const refused = (reason: ClientRefusalReason) => new ClientRefusal(reason, client);
  if (client === undefined) return refused('unknown_client');
  if (!isActive(client)) return refused('application_inactive');
  const { type } = client.application;
  if (secret === true && type !== ApplicationType.CONFIDENTIAL) return refused('unexpected_secret');
  return secret === false && type !== ApplicationType.PUBLIC ? refused('no_secret') : undefined;
}

function requireClient(
  client: ApplicationRecord | undefined,
  sent: { readonly secret: boolean | undefined },
): ApplicationRecord {
  const refused = refusedAs(client, sent);
  if (client === undefined || refused !== undefined)
    throw invalidClient(refused ?? new ClientRefusal('unknown_client', client));
  return client;
}

function invalidClient(refused: ClientRefusal, received?: string): OAuthError {
  const { reason } = refused;
  return new OAuthError('invalid_client', 'Client authentication failed.', {
    cause: refused,
    refusal: { reason, received, hint: hints[reason] },
  });
}
