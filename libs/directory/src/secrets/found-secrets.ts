import type { SecretRecord } from './declared-secrets.ts';

export interface FoundSecrets {
  readonly tenantId: string;
  /** Secrets that have not expired by the database's clock. */
  readonly secrets: readonly SecretRecord[];
}

/** A secret as operators see it; times in milliseconds since the Unix epoch. */
export interface ListedSecret {
  readonly secretId: string;
  readonly createdAt: number;
  /** Undefined if it does not expire. */
  readonly expiresAt: number | undefined;
  /** Undefined if no use is recorded. */
  readonly lastUsedAt: number | undefined;
}

export interface SecretUse {
  readonly tenantId: string;
  readonly clientId: string;
  readonly digest: string;
  /** Milliseconds since the Unix epoch. */
  readonly usedAt: number;
}
