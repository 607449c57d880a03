import { normalizeStart } from '@tessera/kit';
import type { ApplicationRecord } from '../applications/fields.ts';
import type { Attributes } from '../users/attributes.ts';
import type { StandardClaims } from '../users/standard-claims.ts';

export type UserStatus = 'active' | 'disabled' | 'locked';
/** Status of applications and tenants. */
export type Status = 'active' | 'disabled';

export interface TenantRecord {
  readonly tenantId: string;
  readonly name: string;
  readonly status: Status;
  /** Its own issuer; empty if it is served at the shared one. */
  readonly issuer: string;
}

export interface ResourceRecord {
  readonly audience: string;
  readonly name: string;
  /** Whether other tenants of the same issuer may declare the audience too. */
  readonly shared: boolean;
  readonly scopes: readonly { readonly name: string; readonly description: string }[];
  /** The header `typ` of its access tokens. */
  readonly tokenType: 'at+jwt' | 'JWT';
  /** Whether their `scope` is a list or one text (RFC 9068 §2.2.3). */
  readonly scopeFormat: 'array' | 'string';
}

/** E-mail address, name and phone number are empty if unknown. */
export interface UserRecord {
  /** `usr_` and 22 characters of base64url. */
  readonly userId: string;
  readonly username: string;
  readonly email: string;
  readonly name: string;
  readonly phoneNumber: string;
  /** Further standard claims, by the keys of the declared state. */
  readonly standardClaims: StandardClaims;
  /** What applications may map to claims. */
  readonly attributes: Attributes;
  readonly roles: readonly string[];
  readonly status: UserStatus;
  /** PHC string; undefined for a person without a password. */
  readonly passwordHash: string | undefined;
}

/** Everything a tenant consists of. */
export interface TenantState {
  readonly tenant: TenantRecord;
  readonly resources: readonly ResourceRecord[];
  readonly roles: readonly string[];
  readonly users: readonly UserRecord[];
  readonly applications: readonly ApplicationRecord[];
}

/** A row of the change feed. */
export interface Change {
  readonly kind: 'tenant' | 'application' | 'user';
  readonly tenantId: string;
  /** client_id or user_id; empty for a tenant. */
  readonly id: string;
  /** The record is active, but everything issued before is invalid: its password changed. */
  readonly endsAll?: true;
}

/** Longer than any identifier that can be registered, in UTF-16 code units. */
export const longestIdentifier = 512;

/**
 * The form in which identifiers are stored and looked up: composed Unicode in lower case, phone numbers without
 * separators.
 */
export function normalizeIdentifier(identifier: string): string {
  const text = normalizeStart(identifier.trim(), 'NFC', longestIdentifier).toLowerCase();
  return /^\+[\d\s().-]+$/.test(text) ? text.replace(/[\s().-]/g, '') : text;
}

/** The identifiers that a person can sign in with. */
export function identifiersOf(user: Pick<UserRecord, 'username' | 'email' | 'phoneNumber'>): string[] {
  const given = [user.username, user.email, user.phoneNumber].filter((identifier) => identifier !== '');
  return [...new Set(given.map(normalizeIdentifier))];
}
