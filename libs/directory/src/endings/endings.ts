import { isDeepStrictEqual } from 'node:util';
import type { Kind, recordKinds } from '../fields/record-kinds.ts';
import type { RecordOf } from '../record-of.ts';

/**
 * How the change of a field, or the deletion of a record, ends what it makes unusable.
 *
 * - `all`: everything that was issued on the basis of the record ends for good, as `valid_from` rises: sessions,
 *   refresh tokens, codes, decisions, consents and links to a password. Of a provider: what was issued to the people
 *   who sign in with it.
 * - `refused`: as long as the change stands, no refresh accepts what it makes unusable. Sessions that a policy no
 *   longer accepts end.
 * - `taken`: people lose what only this mapping gave them. What that ends, the field of theirs says.
 * - `renewed`: tokens follow from the next refresh on.
 * - `links`: links that were mailed no longer work; tokens follow as by `renewed`.
 * - `nothing`: what was issued stays as it is. Of a role: nobody has it when it is deleted.
 */
type Ending = 'all' | 'refused' | 'taken' | 'renewed' | 'links' | 'nothing';

/** Without the key, which never changes. */
type Records = { readonly [K in Kind]: Omit<RecordOf[K], (typeof recordKinds)[K]['key']> };

/** A row for each field that can change, and for the deletion. */
type Endings = {
  readonly [K in Kind]: { readonly [F in keyof Records[K] | 'deleted']: Ending };
};

/** What reports a change beforehand and what carries it out read this table, and so do its tests. */
export const endings: Endings = {
  tenant: {
    name: 'nothing',
    status: 'all',
    issuer: 'all',
    endpoints: 'nothing',
    authenticationPolicy: 'refused',
    passkeyDomain: 'nothing',
    registration: 'links',
    registrationDomains: 'links',
    accountClosing: 'nothing',
    signInMethods: 'nothing',
    looks: 'nothing',
    owner: 'nothing',
    deleted: 'all',
  },
  user: {
    username: 'renewed',
    email: 'links',
    name: 'renewed',
    phoneNumber: 'renewed',
    attributes: 'renewed',
    standardClaims: 'renewed',
    roles: 'refused',
    status: 'all',
    passwordHash: 'all',
    declaredTotp: 'renewed',
    declaredPasskeys: 'renewed',
    declaredIdentities: 'renewed',
    owner: 'nothing',
    deleted: 'all',
  },
  application: {
    name: 'nothing',
    type: 'nothing',
    status: 'all',
    grantTypes: 'refused',
    redirectUris: 'nothing',
    loopbackPorts: 'nothing',
    logoutRedirectUris: 'nothing',
    redirectUriPrefixes: 'nothing',
    logoutRedirectUriPrefixes: 'nothing',
    scopes: 'refused',
    defaultScopes: 'nothing',
    audiences: 'renewed',
    introspectAudiences: 'nothing',
    lifetimes: 'renewed',
    ciba: 'nothing',
    authenticatedStart: 'nothing',
    allowedRoles: 'refused',
    roles: 'renewed',
    pkce: 'nothing',
    backchannelLogoutUri: 'nothing',
    backchannelLogoutSessionRequired: 'nothing',
    claims: 'renewed',
    idTokenClaims: 'renewed',
    owners: 'nothing',
    thirdParty: 'nothing',
    authenticationPolicy: 'refused',
    publicKeys: 'nothing',
    jwksUri: 'nothing',
    trusts: 'nothing',
    idTokenSigningAlgorithm: 'renewed',
    secrets: 'nothing',
    owner: 'nothing',
    deleted: 'all',
  },
  provider: {
    preset: 'nothing',
    issuer: 'all',
    clientId: 'nothing',
    displayName: 'nothing',
    scopes: 'nothing',
    domains: 'renewed',
    linking: 'nothing',
    createsAccounts: 'nothing',
    roleMappings: 'taken',
    attributeMappings: 'taken',
    trustsFactors: 'nothing',
    signsOut: 'nothing',
    sealedSecret: 'nothing',
    owner: 'nothing',
    deleted: 'all',
  },
  resource: {
    name: 'nothing',
    shared: 'nothing',
    scopes: 'renewed',
    assignableBy: 'nothing',
    tokenType: 'renewed',
    scopeFormat: 'renewed',
    signingAlgorithm: 'renewed',
    roles: 'renewed',
    owner: 'nothing',
    deleted: 'renewed',
  },
  role: { owner: 'nothing', deleted: 'nothing' },
};

/** Whether a record changes in a field that ends what was issued in this way. */
export function endsBy<K extends Kind>(how: Ending, kind: K, before: Records[K], after: Records[K]): boolean {
  return fieldsBy(how, kind).some((field) => !isDeepStrictEqual(before[field], after[field]));
}

/** Whether the deletion of a record ends everything that was issued on its basis. */
export function deletionEnds(kind: Kind): boolean {
  return endings[kind].deleted === 'all';
}

function fieldsBy<K extends Kind>(how: Ending, kind: K): (keyof Records[K])[] {
  const rows: Readonly<Record<string, Ending>> = endings[kind];
  return Object.keys(rows).filter(
    (field) => field !== 'deleted' && rows[field] === how,
  ) as (keyof Records[K])[];
}
