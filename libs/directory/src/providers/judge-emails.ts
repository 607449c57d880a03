import { isDeepStrictEqual } from 'node:util';
import { domainOfEmail } from '@tessera/kit';
import { apiOwner } from '../fields/owner.ts';
import type { ProvenEmail } from '../users/email-proof.postgres.ts';
import type { UserRecord } from '../users/fields.ts';
import { normalizeIdentifier } from '../users/identifiers.ts';
import type { ProviderRecord } from './fields.ts';
import { vouchesFor } from './vouches.ts';

/** Somebody whose address is to be verified and is not, or the reverse. */
export interface JudgedPerson {
  readonly user: UserRecord;
  readonly isVerified: boolean;
}

/**
 * Whose addresses providers judge otherwise: one that a provider proved is verified as long as it may say so. What a
 * link proved that was mailed there, or what an administrator or a file says, stays as it is.
 * @param proven what providers proved, those of before too
 * @param providers of the tenant
 */
export function judgedPeople(
  users: readonly UserRecord[],
  proven: readonly ProvenEmail[],
  providers: readonly ProviderRecord[],
): JudgedPerson[] {
  const proofs = new Map(proven.map((proof) => [proof.userId, proof]));
  const holding = new Map<string, boolean>();
  return users.flatMap((user) => {
    const proof = proofs.get(user.userId);
    if (proof === undefined || user.owner !== apiOwner) return [];
    // What was proven is of that address alone. An earlier version changed addresses without their proofs.
    if (normalizeIdentifier(user.email) !== proof.identifier) return [];
    const domain = proof.identifier.slice(proof.identifier.lastIndexOf('@') + 1);
    const key = JSON.stringify([proof.provider, proof.issuer, domain]);
    const isVerified = holding.get(key) ?? holds({ ...proof, domain }, providers);
    holding.set(key, isVerified);
    return (user.standardClaims.emailVerified !== undefined) === isVerified ? [] : [{ user, isVerified }];
  });
}

/**
 * Whether providers may vouch for other addresses than before: neither a new secret nor a new name to show is such a
 * change.
 */
export function vouchOtherwise(before: readonly ProviderRecord[], after: readonly ProviderRecord[]): boolean {
  const said = (providers: readonly ProviderRecord[]) =>
    new Map(providers.map(({ name, issuer, domains }) => [name, { issuer, domains }]));
  return !isDeepStrictEqual(said(before), said(after));
}

/** What a provider proved that is gone holds unless another one has the domain now. */
function holds(
  { provider, issuer, domain }: Pick<ProvenEmail, 'provider' | 'issuer'> & { readonly domain: string },
  all: readonly ProviderRecord[],
): boolean {
  const present = all.find((one) => one.name === provider && one.issuer === issuer);
  return vouchesFor(present ?? { domains: [] }, domainOfEmail(`x@${domain}`), all);
}
