import { epochSeconds, isStorable, type Clock } from '@tessera/kit';
import {
  assertionEnd,
  assertionProblem,
  assertionTypes,
  grantTypeByContractName,
  readAssertion,
  trustDomainOf,
  type AssertionRefusal,
  type ReadAssertion,
} from '@tessera/oauth';
import type { AssertedApplication, AssertionRecords } from './assertion-records.postgres.ts';
import type { Asker, KeySets, KeySource, LoadedKeys } from './key-sets.ts';
import type { KeySources } from './key-sources.ts';
import { candidates, isSignedBy } from './signatures.ts';
import { reviewedMs, type TokenReview } from './token-review.ts';

/** As it was sent, and where. */
export interface PresentedAssertion {
  readonly assertion: string;
  /** `client_assertion_type`, or the grant type of an assertion that is a grant. */
  readonly assertionType: string;
  /** Empty if none was sent. */
  readonly clientId: string;
  readonly issuer: string;
  readonly tenantId: string;
  readonly ipAddress: string;
}

export interface VerifiedAssertion {
  /** With a refusal, of the application that was found before the check that failed. */
  readonly clientId: string;
  readonly tenantId: string;
  /** Empty if every check passed. */
  readonly refusal: AssertionRefusal | '';
  /** Milliseconds since the Unix epoch; 0 if it counts once. */
  readonly reusableUntilMs: number;
}

export type VerifyAssertion = (presented: PresentedAssertion) => Promise<VerifiedAssertion>;

/** An application that has no record, by the `client_id` that is sent with a token. */
export type FindBuiltIn = (sent: {
  readonly clientId: string;
  readonly issuers: readonly string[];
  readonly subject: string;
}) => Promise<AssertedApplication | undefined>;

interface AssertionDeps {
  readonly records: AssertionRecords;
  readonly findBuiltIn: FindBuiltIn;
  readonly sources: KeySources;
  readonly keySets: KeySets;
  /** Absent: tokens of the cluster count until they expire, also those of pods that are gone. */
  readonly review?: TokenReview | undefined;
  readonly clock: Clock;
  /** Empty if it is not known. */
  readonly sharedIssuer: string;
}

const grantType = grantTypeByContractName('jwt_bearer')?.standard ?? '';

/**
 * Verifies assertions of clients (RFC 7523 §3): those that an application signs, which count once, and tokens of others
 * that it trusts, which their workloads use again until they expire. What is cheap comes first; a key is fetched only
 * for a token that is otherwise good.
 */
export function createVerifyAssertion(deps: AssertionDeps): VerifyAssertion {
  return async (presented) => {
    const read = readAssertion(presented.assertion);
    if (typeof read === 'string') return refused(read);
    // It was decoded here, so no check of requests has seen it.
    if (![read.issuer, read.subject, audienceIn(read)].every(isStorable))
      return refused('assertion_malformed');
    if (presented.assertionType === assertionTypes.private_key_jwt && read.issuer === read.subject)
      return selfSigned(deps, presented, read);
    return trusted(deps, presented, read);
  };
}

/** RFC 7523 §3: issuer and subject are the client itself. */
async function selfSigned(
  deps: AssertionDeps,
  presented: PresentedAssertion,
  read: ReadAssertion,
): Promise<VerifiedAssertion> {
  const { records, sources, keySets, clock } = deps;
  const application = await records.findApplication(read.subject);
  if (application === undefined) return refused('assertion_trust');
  const no = (refusal: AssertionRefusal) => refused(refusal, application);
  if (!['', application.clientId].includes(presented.clientId)) return no('assertion_subject');
  const audience = audienceOf(application, presented);
  const problem = assertionProblem(read, { audience, now: epochSeconds(clock), maxAge: 0, once: true });
  if (problem !== undefined) return no(problem);
  const { publicKeys, jwksUri, clientId } = application;
  const source = jwksUri === '' ? undefined : sources.at(jwksUri);
  if (source === undefined && publicKeys.length === 0) return no('assertion_key');
  const wrong =
    source === undefined
      ? await signatureProblem(publicKeys, presented, read)
      : await verifiedBy(keySets, source, { ...presented, tenantId: application.tenantId }, read);
  if (wrong !== undefined) return no(wrong);
  // Who is refused for another reason has used nothing up.
  const isServed =
    application.statuses.every((status) => status === 'active') &&
    application.issuer === (presented.tenantId && presented.issuer);
  const { jti } = read.claims as { readonly jti: string };
  if (isServed && !(await records.use(clientId, jti, assertionEnd(read, 0)))) return no('assertion_replayed');
  return { ...refused('assertion_trust', application), refusal: '' };
}

/** A token of an issuer that an application trusts. */
async function trusted(
  deps: AssertionDeps,
  presented: PresentedAssertion,
  read: ReadAssertion,
): Promise<VerifiedAssertion> {
  const { records, keySets, clock } = deps;
  const domain = trustDomainOf(read.subject);
  const isSpiffe = presented.assertionType === assertionTypes.spiffe_jwt;
  if (isSpiffe && domain === undefined) return refused('assertion_spiffe');
  const issuers = issuersOf(deps, presented, read);
  const audience = audienceIn(read);
  const builtIn = await deps.findBuiltIn({ clientId: presented.clientId, issuers, subject: read.subject });
  const isFound = builtIn !== undefined || issuers.length === 0;
  const found = isFound
    ? [builtIn].filter((each) => each !== undefined)
    : await records.findTrusting(issuers, read.subject, audience);
  const ofIssuer = (issuer: string) => found.filter(({ trustedIssuer }) => trustedIssuer === issuer);
  const application = meantOf(
    issuers.map(ofIssuer).find(({ length }) => length > 0) ?? [],
    presented,
    audience,
  );
  if (application === undefined) return refused('assertion_trust');
  if (!['', application.clientId].includes(presented.clientId))
    return refused('assertion_subject', application);
  const { problem, maxAge } = judgedBy(application, presented, read, clock);
  if (problem !== undefined) return refused(problem, application);
  const isOfDomain = application.trustedIssuer === domain;
  if (isOfDomain && read.header.kid === undefined) return refused('assertion_spiffe', application);
  const source = sourceOf(deps, application.trustedIssuer);
  if (source === undefined) return refused('assertion_key', application);
  const wrong = await verifiedBy(keySets, source, { ...presented, tenantId: application.tenantId }, read);
  if (wrong !== undefined) return refused(wrong, application);
  const { clientId, tenantId } = application;
  const review = source === deps.sources.cluster ? deps.review : undefined;
  const { assertion, ipAddress } = presented;
  if (review !== undefined && !(await review({ assertion, subject: read.subject, audience, ipAddress })))
    return refused('assertion_gone', application);
  const reviewedUntil = review === undefined ? Number.MAX_SAFE_INTEGER : clock.now() + reviewedMs;
  // Who signed chose `exp`: it may have a fraction, and lie beyond every date.
  const reusableUntilMs = Math.floor(Math.min(assertionEnd(read, maxAge) * 1000, reviewedUntil));
  return { clientId, tenantId, refusal: '', reusableUntilMs };
}

/** Which issuers can be meant, the first before others. The keys of a trust domain are where the operator says. */
function issuersOf(
  { sources, sharedIssuer }: AssertionDeps,
  { assertionType, issuer }: PresentedAssertion,
  read: ReadAssertion,
): string[] {
  const domain = trustDomainOf(read.subject);
  if (assertionType === assertionTypes.spiffe_jwt) return domain === undefined ? [] : [domain];
  const isKnownDomain =
    assertionType === grantType && domain !== undefined && sources.ofIssuer(domain) !== undefined;
  // What we issue proves nothing here: ours are told apart by more than issuer and subject.
  const isOther = !['', issuer, sharedIssuer].includes(read.issuer);
  return [...(isKnownDomain ? [domain] : []), ...(isOther ? [read.issuer] : [])];
}

/** The only audience of an assertion; empty if it has none or several. */
function audienceIn({ claims: { aud } }: ReadAssertion): string {
  const only: unknown = Array.isArray(aud) && aud.length === 1 ? aud[0] : aud;
  return typeof only === 'string' ? only : '';
}

/**
 * Of the applications that trust an issuer and a subject, one for us and one for another audience. Whoever declares our
 * issuer as such an audience, or gets an issuer that is one, takes nothing from the other.
 */
function meantOf(
  found: readonly AssertedApplication[],
  presented: PresentedAssertion,
  audience: string,
): AssertedApplication | undefined {
  const ours = found.find((each) => each.audience === '');
  const other = found.find((each) => each.audience !== '');
  const isOurs = ours !== undefined && audienceOf(ours, presented) === audience;
  return isOurs ? ours : (other ?? ours);
}

function judgedBy(
  application: AssertedApplication,
  presented: PresentedAssertion,
  read: ReadAssertion,
  clock: Clock,
) {
  const { audience: declared, trustedIssuer } = application;
  const trust = application.trusts.find(
    ({ issuer, subject, audience }) =>
      issuer === trustedIssuer && subject === read.subject && audience === declared,
  );
  const maxAge = trust?.maxAge ?? 0;
  const audience = declared === '' ? audienceOf(application, presented) : declared;
  const problem = assertionProblem(read, { audience, now: epochSeconds(clock), maxAge, once: false });
  return { maxAge, problem: trust === undefined ? 'assertion_trust' : problem } as const;
}

/** Our issuer, as the tenant of the application has it. */
function audienceOf({ issuer }: AssertedApplication, presented: PresentedAssertion): string {
  return issuer === '' ? presented.issuer : issuer;
}

/** The cluster calls its issuer what it likes, so it is not one of the addresses that are asked. */
function sourceOf({ sources, keySets }: AssertionDeps, issuer: string): KeySource | undefined {
  const { cluster } = sources;
  const isOfCluster = cluster !== undefined && keySets.known(cluster)?.issuer === issuer;
  return isOfCluster ? cluster : sources.ofIssuer(issuer);
}

/** Asks the source again once for a key that is not known, as after a rotation. */
async function verifiedBy(
  keySets: KeySets,
  source: KeySource,
  presented: PresentedAssertion & Asker,
  read: ReadAssertion,
): Promise<AssertionRefusal | undefined> {
  const problemWith = ({ keys }: LoadedKeys) => signatureProblem(keys, presented, read);
  const keys = await keySets.get(source, presented);
  const problem = await problemWith(keys);
  if (problem === undefined) return undefined;
  // A key that is named and known is not another one a moment later.
  if (problem === 'assertion_signature' && read.header.kid !== undefined) return problem;
  const renewed = await keySets.renewed(source, presented);
  return renewed === keys ? problem : problemWith(renewed);
}

async function signatureProblem(
  keys: LoadedKeys['keys'],
  { assertion }: PresentedAssertion,
  read: ReadAssertion,
): Promise<AssertionRefusal | undefined> {
  const fitting = candidates(keys, read);
  if (fitting.length === 0) return 'assertion_key';
  return (await isSignedBy(fitting, assertion, read.header.alg)) ? undefined : 'assertion_signature';
}

function refused(refusal: AssertionRefusal, application?: AssertedApplication): VerifiedAssertion {
  const { clientId = '', tenantId = '' } = application ?? {};
  return { clientId, tenantId, refusal, reusableUntilMs: 0 };
}
