import { isStorable } from '@tessera/kit';
import type { SignInWithProviderRequest } from '@tessera/proto-gen/directory';
import type { ProviderAnswer } from './provider.ts';

type Claims = Readonly<Record<string, unknown>>;

/** Who the person is to the provider (OIDC Core §2). Nobody has an empty `sub`. */
export function identityOf({ claims: { iss: issuer, sub } }: ProviderAnswer) {
  return { issuer, subject: text(sub) };
}

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
export function lacksClaims(idToken: Claims, mappedClaims: readonly string[]): boolean {
  return [...mappedClaims, 'email', 'name'].some((name) => idToken[name] === undefined);
}

/**
 * What the provider said in the claims that are mapped. A claim that it only refers to, as Entra ID does to more than
 * 200 groups, is not known (OIDC Core §5.6.2): nobody loses roles by it.
 */
export function mappedOf({ claims, userInfo = {} }: ProviderAnswer, names: readonly string[]) {
  const found = Object.fromEntries(names.map((name) => [name, mappable(claims[name] ?? userInfo[name])]));
  const isReferred = (name: string) =>
    [claims, userInfo].some(
      ({ _claim_names: elsewhere, hasgroups }) =>
        (typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, name)) ||
        (name === 'groups' && hasgroups === true),
    );
  const knownClaims = names.filter((name) => found[name] !== undefined || !isReferred(name));
  return {
    claims: JSON.parse(JSON.stringify(found)) as NonNullable<SignInWithProviderRequest['claims']>,
    knownClaims,
  };
}

/**
 * Registered methods (RFC 8176 §2) that a provider which is trusted with factors names; ours says that it was
 * another's.
 */
export function methodsOf({ claims }: ProviderAnswer, trustsFactors: boolean): string[] {
  const { amr } = claims;
  const named = trustsFactors && Array.isArray(amr) ? amr.filter((one) => registeredMethods.has(one)) : [];
  return [...new Set([federatedMethod, ...(named as string[])])];
}

/** `amr` of a sign-in at a provider. */
const federatedMethod = 'fed';

const registeredMethods: ReadonlySet<unknown> = new Set(
  'face fpt geo hwk iris kba mca mfa otp pin pop pwd rba retina sc sms swk tel user vbm wia'.split(' '),
);

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

/** What of a claim a mapping reads: a text, number or boolean, or those in a list. */
function mappable(claim: unknown): unknown {
  if (claim === undefined) return undefined;
  if (Array.isArray(claim)) return claim.filter(isMappable);
  return isMappable(claim) ? claim : null;
}

function isMappable(value: unknown): boolean {
  return typeof value === 'string' ? isStorable(value) : ['number', 'boolean'].includes(typeof value);
}

/** A text that no store takes is as good as none. */
function text(value: unknown): string {
  return typeof value === 'string' && isStorable(value) ? value : '';
}
