import type { ApplicationRecord, DirectoryClient } from '@tessera/directory-client';
import type { AuditBatch } from '@tessera/audit';
import type { CallContext } from '@tessera/rpc';
import type { Kit } from '@tessera/process';
import {
  builtInScopes,
  grantResourcesFor,
  grantScopes,
  narrowScopes,
  OAuthError,
  parseScope,
  temporarilyUnavailable,
} from '@tessera/oauth';
import type { User } from '@tessera/proto-gen/directory';
import type { ExchangeRequest } from '@tessera/proto-gen/token';
import { clientCredentialsOf, invalidClient, issuerOf } from '../client-authentication.ts';
import { auditDenial, type Attempt } from '../denied-requests.ts';
import {
  grantParameters,
  type Exchange,
  type Grant,
  type GrantTable,
  type PersonalGrant,
  type TokenRequest,
} from './grant.ts';
import { issueTokens, type IssuingParts } from './issue-tokens.ts';
import { refuse, Refusal } from '../audit-reason.ts';

export interface PipelineParts extends IssuingParts {
  readonly kit: Pick<Kit, 'clock' | 'random' | 'failpoint' | 'log'>;
  readonly grants: GrantTable;
  readonly directory: DirectoryClient;
  readonly audit: Pick<AuditBatch, 'add'>;
  /** Undefined: each request has the issuer of its host. */
  readonly issuer: string | undefined;
}

export interface ExchangeResult {
  readonly accessToken: string;
  readonly expiresIn: number;
  readonly scope: string;
  readonly refreshToken: string;
  readonly idToken: string;
}

/** What an exchange needs of the call it is made for. */
export type ExchangeContext = Pick<CallContext, 'requestId' | 'signal' | 'onward'>;

const nothingRequested = {
  scope: '',
  resource: '',
  code: '',
  codeVerifier: '',
  redirectUri: '',
  refreshToken: '',
  deviceCode: '',
  authReqId: '',
} as const;

/** The token endpoint: nine phases in this order for every grant type. */
export async function exchange(
  parts: PipelineParts,
  request: ExchangeRequest,
  context: CallContext,
): Promise<ExchangeResult> {
  const { credentials, caller, grantType } = request;
  const from = { clientId: credentials?.clientId ?? '', ipAddress: caller?.ipAddress ?? '' };
  return refusalsNoted(parts, { ...from, details: { grantType } }, context, async () => {
    // 1. the grant type is one of ours and its parameters are there
    const grant = requireGrant(parts.grants, request);
    requireParameters(grant, request);
    // 2. the client is who it says it is
    const client = await authenticate(parts, request, context);
    const issuer = issuerOf(parts.issuer, caller);
    return issue(parts, grant, begin(parts, { request, client, issuer, ...from }, context));
  });
}

/** A client that needs no authentication now: it proved who it is when it started what was approved since. */
export interface KnownClient {
  readonly clientId: string;
  readonly tenantId: string;
  readonly ipAddress: string;
  /** Of the grant. */
  readonly issuer: string;
}

/** The phases from 3 on, for tokens that are not answered to a request of the client but pushed (CIBA Core §10.3). */
export async function exchangeForPush(
  parts: PipelineParts,
  grant: Grant,
  { clientId, tenantId, ipAddress, issuer }: KnownClient,
  context: ExchangeContext,
): Promise<ExchangeResult> {
  const attempt = { clientId, ipAddress, details: { grantType: grant.name } };
  return refusalsNoted(parts, attempt, context, async () => {
    const client = await parts.directory.application(clientId, context.onward());
    if (client?.tenant.tenantId !== tenantId || !parts.directory.isActive(client)) {
      throw invalidClient(new Refusal('application_inactive', false));
    }
    const request = { ...nothingRequested, grantType: grant.name };
    return issue(parts, grant, begin(parts, { request, client, issuer, ipAddress }, context));
  });
}

/** The phases in which the grant types differ least. */
async function issue(parts: PipelineParts, grant: Grant, current: Exchange): Promise<ExchangeResult> {
  // 3. the application may use this grant type
  requirePermission(grant, current);
  // 4. what was presented is redeemed
  const redemption = await grant.redeem(current);
  try {
    // 5. the grant is of this issuer; at this moment all concerned are active and the user may use the application
    requireIssuer(parts.issuer, redemption.person);
    const subject = await requireAdmitted(parts.directory, current, redemption.person);
    // 6. scope and resource of the tokens
    const { idTokenClaims } = redemption;
    const authority = { subject, idTokenClaims, ...decideScopes(current, redemption.person) };
    // 7. claims and signatures
    const issued = await issueTokens(parts, current, authority);
    // 8. the redemption becomes final
    const facts = { scopes: authority.scopes, audience: issued.audience };
    const refreshToken = await redemption.commit(facts);
    // 9. the answer
    const { accessToken, expiresIn, idToken } = issued;
    return {
      accessToken,
      expiresIn,
      idToken,
      scope: facts.scopes.join(' '),
      refreshToken: refreshToken ?? '',
    };
  } catch (error) {
    await redemption.abandon?.();
    throw error;
  }
}

async function refusalsNoted<T>(
  { audit }: PipelineParts,
  attempt: Attempt,
  context: ExchangeContext,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    auditDenial(audit, attempt, context, error);
    throw error;
  }
}

function requireGrant(grants: GrantTable, request: ExchangeRequest): Grant {
  if (request.grantType === '') throw missing('grant_type');
  const grant = grants.get(request.grantType);
  if (grant === undefined) throw new OAuthError('unsupported_grant_type', 'The grant type is not supported.');
  return grant;
}

function requireParameters(grant: Grant, request: ExchangeRequest): void {
  if ((request.credentials?.clientId ?? '') === '') throw missing('client_id');
  for (const name of grant.parameters) if (grantParameters[name](request) === '') throw missing(name);
}

function missing(name: string): OAuthError {
  return new OAuthError('invalid_request', `The parameter ${name} is missing.`);
}

function authenticate(
  { directory }: PipelineParts,
  { credentials, caller }: ExchangeRequest,
  context: CallContext,
): Promise<ApplicationRecord> {
  if (credentials === undefined) throw missing('client_id');
  const from = { ipAddress: caller?.ipAddress ?? '' };
  return directory.authenticateClient(clientCredentialsOf(credentials), from, context.onward());
}

function requirePermission(grant: Grant, client: ApplicationRecord): void {
  if (!client.application.grantTypes.includes(grant.name)) {
    const message = 'The application may not use this grant type.';
    throw refuse('unauthorized_client', message, 'grant_type_not_allowed');
  }
  grant.permit?.(client);
}

function begin(
  parts: PipelineParts,
  given: {
    readonly request: TokenRequest;
    readonly client: ApplicationRecord;
    readonly issuer: string;
    readonly ipAddress: string;
  },
  context: ExchangeContext,
): Exchange {
  const { request, client, issuer, ipAddress } = given;
  return {
    ...client,
    request,
    requestedScopes: parseScope(request.scope),
    issuer,
    trail: { requestId: context.requestId, ipAddress },
    tokenId: parts.kit.random.bytes(16).toString('base64url'),
    call: () => context.onward(),
    requireAwaited() {
      if (!context.signal.aborted) return;
      throw temporarilyUnavailable(new Error('the caller gave up before the commit'));
    },
  };
}

/** A deployment that has one issuer does not speak for another, also not for the one it was before. */
function requireIssuer(configured: string | undefined, grant: PersonalGrant | undefined): void {
  if (grant === undefined || grant.issuer === (configured ?? grant.issuer)) return;
  throw refuse('invalid_grant', 'The grant is no longer valid.', 'issuer_mismatch');
}

async function requireAdmitted(
  directory: DirectoryClient,
  { application: { clientId, tenantId }, call }: Exchange,
  grant: PersonalGrant | undefined,
): Promise<{ grant: PersonalGrant; user: User } | undefined> {
  const client = await directory.application(clientId, call());
  if (client === undefined || !directory.isActive(client)) {
    throw invalidClient(new Refusal('application_inactive', false));
  }
  if (grant === undefined) return undefined;
  const user = await directory.user(tenantId, grant.userId, call());
  if (user === undefined || !directory.isActive(user)) {
    throw refuse('invalid_grant', 'The grant is no longer valid.', 'user_inactive');
  }
  // Disabled, locked or given another password since, and perhaps enabled again.
  if (!directory.isActive(user, grant.authTime) || !directory.isActive(client, grant.authTime)) {
    throw refuse('invalid_grant', 'The grant is no longer valid.', 'ended_since');
  }
  if (!directory.mayUse(client.application, user)) {
    throw refuse('invalid_grant', 'The grant is no longer valid.', 'role_missing');
  }
  return { grant, user };
}

/**
 * A client for itself gets what it asks for, as far as it may. A person's grant is the upper bound: the request may
 * narrow it, and what the application has lost since is left out.
 */
function decideScopes(
  { application, request, requestedScopes }: Exchange,
  grant: PersonalGrant | undefined,
): { scopes: string[]; resource: string } {
  if (grant === undefined) {
    const { resource } = request;
    return grantScopes({
      requested: requestedScopes,
      resource,
      available: application.scopes,
      person: false,
    });
  }
  const resources = grantResourcesFor(request.resource, application.scopes);
  if (resources.length > 0 && !resources.includes(grant.resource)) {
    const message = 'The resource is not the one of the original grant.';
    throw refuse('invalid_target', message, 'resource_mismatch');
  }
  const audienceOf = new Map(application.scopes.map((scope) => [scope.name, scope.audience]));
  const remaining = grant.scopes.filter((name) =>
    builtInScopes.has(name) ? audienceOf.has(name) : audienceOf.get(name) === grant.resource,
  );
  const scopes = narrowScopes(remaining, requestedScopes);
  if (scopes.length === 0) throw refuse('invalid_scope', 'No granted scope is left.', 'scope_withdrawn');
  return { scopes, resource: scopes.every((name) => builtInScopes.has(name)) ? '' : grant.resource };
}
