import type { Page } from 'playwright-core';

/**
 * What the walk needs of a provider that is running, with the people `ada`, who is in the group `finance`, and `bob`.
 */
export interface Upstream {
  readonly issuer: string;
  readonly preset: 'keycloak' | 'none';
  /** Signs in on the pages of the provider, where the browser is. */
  signIn(page: Page, username: string): Promise<void>;
  /** Takes ada out of the group. */
  leaveGroup(): Promise<void>;
  /** Signs with a new key from now on. */
  rotateKeys(): Promise<void>;
  stop(): Promise<void>;
}

/** As which Tessera is registered at the provider. */
export interface Registration {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
}

/** People of the providers, with their password there. */
export const people = [
  { username: 'ada', email: 'ada@staff.example', givenName: 'Ada', familyName: 'Lovelace' },
  { username: 'bob', email: 'bob@staff.example', givenName: 'Bob', familyName: 'Smith' },
] as const;
export const passwordThere = 'a passphrase that the provider knows';
export const group = 'finance';
