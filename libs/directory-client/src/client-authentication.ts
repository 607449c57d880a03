import { hash } from 'node:crypto';
import { addressKey, type Limiter, type LimitRule } from '@tessera/stores';
import { rootCall } from '@tessera/rpc';
import type { CallOptions, Client } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import {
  ApplicationType,
  ChangeKind,
  type DirectoryService,
  type WatchChangesResponse,
} from '@tessera/proto-gen/directory';
import { isActive } from './access.ts';
import { Coalesced, type Ticket } from './single-flight.ts';
import type { CachedRecords } from './directory-cache.ts';
import type { ApplicationRecord, Caller, ClientCredentials } from './types.ts';
import type { VerifiedSecrets } from './verified-secrets.ts';

const perClientAndAddress = { name: 'client-secret.application', limit: 20, windowSeconds: 300 };
/**
 * Over all addresses. Beyond it an address has five attempts instead of twenty, and not none: whoever guesses from many
 * addresses must not lock out the client itself, which is right at its first, also in several processes at once.
 */
const perClient = { name: 'client-secret.client', limit: 500, windowSeconds: 300 };
const underAttack = { ...perClientAndAddress, limit: 5 };
/** Wider, because many applications may start behind one address at once. */
const perAddress = { name: 'client-secret.address', limit: 300, windowSeconds: 300 };

export interface AuthenticatorOptions {
  readonly directory: Client<typeof DirectoryService>;
  readonly records: CachedRecords;
  readonly secrets: VerifiedSecrets;
  readonly limiter: Limiter | undefined;
}

/** Client authentication (RFC 6749 §2.3). Every refusal reads the same, whatever its reason. */
export class ClientAuthenticator {
  readonly #options: AuthenticatorOptions;
  readonly #attempts = new Coalesced<ApplicationRecord>();

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  async authenticate(
    credentials: ClientCredentials,
    caller: Caller,
    call: CallOptions,
  ): Promise<ApplicationRecord> {
    const { clientId, clientSecret = '' } = credentials;
    if (clientSecret === '') {
      return accept(await this.#options.records.application(clientId, call), ApplicationType.PUBLIC);
    }
    const digest = this.#options.secrets.digest(clientId, clientSecret);
    if (this.#options.secrets.has(clientId, digest)) {
      if (this.#options.secrets.takeTelling(clientId, digest)) void this.#tellUse(clientId, clientSecret);
      return accept(await this.#options.records.application(clientId, call), ApplicationType.CONFIDENTIAL);
    }
    // The same secret tried many times at once, as after a restart under load, is one attempt.
    const attempt = `${digest} ${caller.ipAddress}`;
    return this.#attempts.run(attempt, call, (ticket, shared) =>
      this.#attempt({ clientId, clientSecret, digest, ipAddress: caller.ipAddress }, shared, ticket),
    );
  }

  /** Verifications under way may have seen a secret that is gone: their result is not remembered. */
  drop({ kind, tenantId, id }: WatchChangesResponse): void {
    if (kind === ChangeKind.USER) return;
    if (kind === ChangeKind.APPLICATION) this.#options.secrets.drop(id);
    else this.#options.secrets.dropTenant(tenantId);
    this.#attempts.forgetAll();
  }

  clear(): void {
    this.#options.secrets.clear();
    this.#attempts.forgetAll();
  }

  /**
   * Has the directory note that a remembered secret is in use. Nobody waits for it, and it counts as no attempt: a
   * client is neither slowed down nor refused for it.
   */
  async #tellUse(clientId: string, clientSecret: string): Promise<void> {
    const { directory, secrets } = this.#options;
    try {
      const own = rootCall('secret-use');
      const { verified } = await directory.verifyApplicationSecret({ clientId, clientSecret }, own);
      if (!verified) secrets.drop(clientId);
    } catch {
      // A directory that is away hears of the next use.
    }
  }

  /** The application is looked up beside the secret, not before it, so that unknown and wrong take the same time. */
  async #attempt(
    tried: { clientId: string; clientSecret: string; digest: string; ipAddress: string },
    call: CallOptions,
    ticket: Ticket,
  ): Promise<ApplicationRecord> {
    const { clientId, clientSecret, digest, ipAddress } = tried;
    const keys = {
      both: hash('sha256', `${clientId}\0${addressKey(ipAddress)}`, 'base64url'),
      address: addressKey(ipAddress),
      client: clientId,
    };
    const counted = await this.#count(keys);
    const [found, verification] = await Promise.all([
      this.#options.records.application(clientId, call),
      this.#options.directory.verifyApplicationSecret({ clientId, clientSecret }, call),
    ]).catch(async (error: unknown) => {
      // Nobody said whether it was right: who tries again while the directory is away is not to be refused afterwards.
      await this.#options.limiter?.refund(perClientAndAddress, keys.both);
      await this.#takeBack(counted);
      throw error;
    });
    const record = accept(verification.verified ? found : undefined, ApplicationType.CONFIDENTIAL);
    if (!ticket.forgotten) {
      const expiresAt = Number(verification.expiresAt);
      this.#options.secrets.add(clientId, { digest, tenantId: record.tenant.tenantId, expiresAt });
    }
    await this.#options.limiter?.reset(perClientAndAddress, keys.both);
    // Taken back and not forgotten: else one good client of its own would give a guesser ever new attempts.
    await this.#takeBack(counted);
    return record;
  }

  /**
   * Counted before the check, so that guesses made in parallel are bounded like guesses made in turn. Answers what was
   * counted besides the attempt of the client from the address.
   */
  async #count(keys: { both: string; address: string; client: string }): Promise<readonly Counted[]> {
    const { limiter } = this.#options;
    if (limiter === undefined) return [];
    await admit(limiter, perAddress, keys.address);
    const calm = await limiter.consume(perClient, keys.client);
    await admit(limiter, calm.allowed ? perClientAndAddress : underAttack, keys.both);
    const ofAddress = { rule: perAddress, key: keys.address };
    return calm.allowed ? [ofAddress, { rule: perClient, key: keys.client }] : [ofAddress];
  }

  async #takeBack(counted: readonly Counted[]): Promise<void> {
    for (const { rule, key } of counted) await this.#options.limiter?.refund(rule, key);
  }
}

interface Counted {
  readonly rule: LimitRule;
  readonly key: string;
}

async function admit(limiter: Limiter, rule: LimitRule, key: string): Promise<void> {
  const { allowed, retryAfterSeconds } = await limiter.consume(rule, key);
  if (allowed) return;
  throw new OAuthError('rate_limited', 'Too many attempts. Try again later.', { retryAfterSeconds });
}

function accept(record: ApplicationRecord | undefined, type: ApplicationType): ApplicationRecord {
  if (record !== undefined && record.application.type === type && isActive(record)) return record;
  throw new OAuthError('invalid_client', 'Client authentication failed.');
}
