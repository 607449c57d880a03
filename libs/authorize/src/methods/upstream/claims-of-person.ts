import type { ProviderAnswer } from './provider.ts';

type Claims = Readonly<Record<string, unknown>>;

/** Who the person is, by the provider; empty where it does not say. */
export interface PersonClaims {
  readonly email: string;
  /** Only what the provider says together with the address counts (nOAuth: an address without it may be anybody's). */
  readonly emailVerified: boolean;
  readonly name: string;
  readonly givenName: string;
  readonly familyName: string;
}

/** Whether the ID token lacks what the UserInfo endpoint may have (OIDC Core §5.4). */
export function lacksClaims(idToken: Claims): boolean {
  return text(idToken['email']) === '' || text(idToken['name']) === '';
}

/** The address and whether it is verified come from one document, never half from each. */
export function personOf({ claims, userInfo = {} }: ProviderAnswer): PersonClaims {
  const ofEmail = [claims, userInfo].find((one) => text(one['email']) !== '') ?? claims;
  const verified = ofEmail['email_verified'];
  const given = (name: string) => text(claims[name]) || text(userInfo[name]);
  return {
    email: text(ofEmail['email']),
    // Some providers send texts.
    emailVerified: verified === true || verified === 'true',
    name: given('name'),
    givenName: given('given_name'),
    familyName: given('family_name'),
  };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
