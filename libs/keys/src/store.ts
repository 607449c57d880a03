import type { AuditEvent } from '@tessera/audit';
import type { NewKey } from './key-pair.ts';

export type StoredState = 'published' | 'active' | 'retired';

/** A key that verifiers must know. Ages are seconds by the database's clock. */
export interface StoredKey {
  readonly kid: string;
  readonly state: StoredState;
  readonly modulus: string;
  readonly exponent: string;
  /** Absent once retired: the private key is destroyed then. */
  readonly wrappedPrivateKey: string | undefined;
  readonly publishedFor: number;
  /** Absent before the key signed. */
  readonly activeFor: number | undefined;
}

/** On whose behalf the life cycle moves, for the audit rows. */
export type Origin = Pick<AuditEvent, 'actor' | 'requestId'>;

export interface Activation {
  readonly activated: string;
  readonly retired: string;
}

/** `in_use`: it signs, or is to sign next. */
export type Withdrawal = 'withdrawn' | 'in_use' | 'unknown';

/**
 * The signing keys at rest. Every move of the life cycle is one commit together with its audit rows; losing a race is a
 * result, not an error. All times are the database's.
 */
export interface KeyStore {
  /** The published and the active key, and the keys retired less than `retention` seconds ago, newest first. */
  load(retention: number): Promise<StoredKey[]>;
  /** Makes `key` the active one if there is none. False when another process was first. */
  establish(key: NewKey, origin: Origin): Promise<boolean>;
  /** Publishes `key` as the next one if there is none and the active one signs for at least `minimumActive` seconds. */
  publish(key: NewKey, minimumActive: number, origin: Origin): Promise<boolean>;
  /**
   * Lets the next key sign if it is published for at least `minimumPublished` seconds; the active one retires and loses
   * its private part. Undefined when there is no such key.
   */
  activate(minimumPublished: number, origin: Origin): Promise<Activation | undefined>;
  /** Deletes a retired key, so that verifiers know it no longer. */
  withdraw(kid: string, origin: Origin): Promise<Withdrawal>;
}
