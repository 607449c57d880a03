import type { EventBase } from '@tessera/audit';
import type { SigningAlgorithmName } from '@tessera/oauth';

export type StoredState = 'published' | 'active' | 'retired';

/** A published key. Ages are in seconds by the clock of the database. */
export interface StoredKey {
  readonly kid: string;
  readonly state: StoredState;
  readonly algorithm: SigningAlgorithmName;
  /** Those of its JWK for its key type (RFC 7518 §6). */
  readonly publicMembers: Readonly<Record<string, string>>;
  /** Absent once retired: the private key is destroyed then. */
  readonly wrappedPrivateKey: string | undefined;
  readonly publishedFor: number;
  /** Absent before the key signed. */
  readonly activeFor: number | undefined;
  /** Milliseconds since the Unix epoch; absent before it happened. */
  readonly publishedAt: number;
  readonly activatedAt: number | undefined;
  readonly retiredAt: number | undefined;
}

/** A key that is not stored yet, with its private key already wrapped. */
export interface NewKey {
  /** RFC 7638 thumbprint, so that a kid is never used for two keys. */
  readonly kid: string;
  readonly algorithm: SigningAlgorithmName;
  /** Those of its JWK for its key type (RFC 7518 §6). */
  readonly publicMembers: Readonly<Record<string, string>>;
  readonly wrappedPrivateKey: string;
}

/** Who causes a step of the life cycle, for the audit rows. */
export type Origin = EventBase;

export interface Activation {
  readonly activated: string;
  readonly retired: string;
}

/** `in_use`: the key is active or published to be the next one. */
export type Withdrawal = 'withdrawn' | 'in_use' | 'unknown';

/**
 * The signing keys of an issuer at rest, a ring for each algorithm. Every step of the life cycle is committed together
 * with its audit rows. A lost race is a result, not an error. All times are those of the database.
 */
export interface KeyStore {
  /** Of each ring the published and the active key, and the keys retired within the retention, newest first. */
  load(): Promise<StoredKey[]>;
  /** Makes `key` the active one of its ring if there is none. False if another process was first. */
  establish(key: NewKey, origin: Origin): Promise<boolean>;
  /** Publishes `key` as the next one if there is none and the active one signs for at least `minimumActive` seconds. */
  publish(key: NewKey, minimumActive: number, origin: Origin): Promise<boolean>;
  /**
   * Activates the next key if it is published for at least `minimumPublished` seconds; the active one retires and loses
   * its private key. Undefined if there is no such key.
   */
  activate(
    algorithm: SigningAlgorithmName,
    minimumPublished: number,
    origin: Origin,
  ): Promise<Activation | undefined>;
  /** Deletes a retired key, so that it is no longer published. */
  withdraw(kid: string, origin: Origin): Promise<Withdrawal>;
}
