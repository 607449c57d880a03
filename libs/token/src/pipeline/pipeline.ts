import { refusedClient, type ApplicationRecord, type DirectoryClient } from '@tessera/directory-client';
import type { AuditBatch } from '@tessera/audit';
import type { CallContext } from '@tessera/rpc';
import type { Runtime } from '@tessera/process';
import {
  grantTypeByContractName,
  grantTypes,
  isNoRefusal,
  OAuthError,
  parseScope,
  temporarilyUnavailable,
} from '@tessera/oauth';
import { metrics } from '@tessera/telemetry';
import type { ExchangeRequest } from '@tessera/proto-gen/token';
import type { TokenCounts } from '../counts/token-counts.ts';
import { auditDenied, auditReasonOf, clientIdOf, oauthError } from '../audit.ts';
import { issuerOf, requestedAt } from '../requested-issuer.ts';
import {
  grantParameters,
  missingParameter,
  type Exchange,
  type Grant,
  type GrantTable,
  type TokenRequest,
} from './grant-table.ts';
import { decideScopes, requireActive, requireIssuer } from './grant-checks.ts';
import { issueTokens, type IssuingDeps } from './issue-tokens.ts';

export interface PipelineDeps extends IssuingDeps {
  readonly runtime: Pick<Runtime, 'clock' | 'random' | 'failpoint' | 'log'>;
  readonly grants: GrantTable;
  readonly directory: DirectoryClient;
  readonly audit: Pick<AuditBatch, 'add'>;
  /** Undefined: each request has the issuer of its host. */
  readonly issuer: string | undefined;
  readonly counts: Pick<TokenCounts, 'add'>;
}

/** A token response (RFC 6749 §5.1); texts that do not apply are empty. */
export interface TokenResponse {
  readonly accessToken: string;
  /** Seconds. */
  readonly expiresIn: number;
  readonly scope: string;
  readonly refreshToken: string;
  /** Seconds; 0 where clients are not told. */
  readonly refreshExpiresIn: number;
  readonly idToken: string;
}

/** The token endpoint (RFC 6749 §3.2): nine phases, in this order for every grant type. Throws `OAuthError`. */
export async function exchange(
  deps: PipelineDeps,
  request: ExchangeRequest,
  context: CallContext,
): Promise<TokenResponse> {
  const { credentials, caller, grantType } = request;
  const from: Asking = { clientId: credentials?.clientId ?? '', ipAddress: caller?.ipAddress ?? '' };
  return observed(deps, from, { grantType }, context, async (enter) => {
    // 1. the grant type is offered and its parameters are present
    enter('parameters');
    const grant = requireGrant(deps.grants, request);
    requireParameters(grant, request);
    // 2. the client is authenticated
    enter('client');
    const client = await authenticate(deps, grant, request, context);
    from.clientId = client.application.clientId;
    from.tenantId = client.tenant.tenantId;
    const issuer = issuerOf(deps.issuer, caller);
    enter('scope');
    const current = newExchange(deps, { request, client, issuer, ...from }, context);
    return redeemGrant(deps, grant, current, enter);
  });
}

/** Who asks for tokens. */
interface Asking {
  /** As claimed, until the application is known. */
  clientId: string;
  /** Once the application is known; a public client proves nothing. */
  tenantId?: string;
  readonly ipAddress: string;
}

/** Notes the phase that begins, for the log of a refusal. */
type Enter = (phase: string) => void;

async function redeemGrant(
  deps: PipelineDeps,
  grant: Grant,
  current: Exchange,
  enter: Enter,
): Promise<TokenResponse> {
  // 3. the application may use this grant type
  enter('grant_type');
  requirePermission(grant, current);
  // 4. the presented code or token is redeemed
  enter('redemption');
  const redemption = await grant.redeem(current);
  const { userGrant } = redemption;
  try {
    // 5. the grant is of this issuer, and client and user are active
    enter('grant');
    requireIssuer(deps.issuer, current, userGrant);
    const subject = await requireActive(deps.directory, current, userGrant);
    // 6. scope and resource of the tokens
    enter('scope');
    const { scopes, resource } = decideScopes(current, userGrant);
    // 7. claims and signatures
    enter('signature');
    const issued = await issueTokens(deps, current, { subject, scopes, resource });
    // 8. the redemption becomes final
    enter('commit');
    const refresh = await redemption.commit({ scopes, audience: issued.audience });
    // 9. the token response
    const { accessToken, expiresIn, idToken } = issued;
    const { token: refreshToken = '', expiresIn: refreshExpiresIn = 0 } = refresh ?? {};
    return { accessToken, expiresIn, idToken, scope: scopes.join(' '), refreshToken, refreshExpiresIn };
  } catch (error) {
    await redemption.abandon?.();
    throw error;
  }
}

const exchanges = metrics.counter({
  name: 'tessera_exchanges_total',
  help: 'Token requests by grant type and outcome (issued, or the error code).',
  labels: ['grant', 'outcome'],
});

const knownGrantTypes: ReadonlySet<string> = new Set(grantTypes.map(({ name }) => name));

/**
 * Counts a token request by its outcome; if it is denied, audits it and tells the gateway's log who was refused and
 * why.
 */
async function observed(
  { audit, directory, counts }: PipelineDeps,
  from: Readonly<Asking>,
  { grantType }: { readonly grantType: string },
  context: CallContext,
  work: (enter: Enter) => Promise<TokenResponse>,
): Promise<TokenResponse> {
  let phase = '';
  const enter: Enter = (entered) => (phase = entered);
  const grant = knownGrantTypes.has(grantType) ? grantType : '(unknown)';
  try {
    const response = await auditDenied(
      audit,
      () => ({ ...from, details: { grantType } }),
      context,
      () => work(enter),
    );
    exchanges.labels(grant, 'issued').inc();
    if (from.tenantId !== undefined) counts.add(from.tenantId, 'issued');
    return response;
  } catch (error) {
    exchanges.labels(grant, error instanceof OAuthError ? error.code : 'internal').inc();
    if (!(error instanceof OAuthError)) throw error;
    if (from.tenantId !== undefined && !isNoRefusal(error)) counts.add(from.tenantId, 'refused');
    throw refusedClient(error, directory, {
      clientId: clientIdOf(error) ?? from.clientId,
      phase,
      reason: auditReasonOf(error),
    });
  }
}

function requireGrant(grants: GrantTable, request: ExchangeRequest): Grant {
  if (request.grantType === '') throw missingParameter('grant_type');
  const grant = grants.get(request.grantType);
  if (grant === undefined) throw new OAuthError('unsupported_grant_type', 'The grant type is not supported.');
  return grant;
}

function requireParameters(grant: Grant, request: ExchangeRequest): void {
  const { clientId = '', clientAssertion = '' } = request.credentials ?? {};
  if (clientId === '' && clientAssertion === '' && grant.identifies === undefined)
    throw missingParameter('client_id');
  for (const name of grant.parameters)
    if (grantParameters[name](request) === '') throw missingParameter(name);
}

async function authenticate(
  { directory }: PipelineDeps,
  grant: Grant,
  { credentials, caller, assertion }: ExchangeRequest,
  context: CallContext,
): Promise<ApplicationRecord> {
  const from = { ipAddress: caller?.ipAddress ?? '', at: requestedAt(caller) };
  if (grant.identifies === undefined) {
    if (credentials === undefined) throw missingParameter('client_id');
    return directory.authenticateClient(credentials, from, context.onward());
  }
  const { clientId = '', clientSecret = '', clientAssertion = '' } = credentials ?? {};
  if (clientSecret !== '' || clientAssertion !== '')
    throw new OAuthError(
      'invalid_request',
      'The assertion says who the client is. Send no other credentials.',
    );
  const presented = { clientId, clientAssertion: assertion, clientAssertionType: standardName(grant.name) };
  try {
    return await directory.authenticateClient(presented, from, context.onward());
  } catch (error) {
    if (!(error instanceof OAuthError) || error.code !== 'invalid_client') throw error;
    // RFC 7523 §3.1.
    const { cause, refusal } = error;
    throw new OAuthError('invalid_grant', 'The assertion is not accepted.', { cause, refusal });
  }
}

function standardName(name: Grant['name']): string {
  return grantTypeByContractName(name)?.standard ?? '';
}

function requirePermission(grant: Grant, current: Exchange): void {
  if (!current.application.grantTypes.includes(grant.name)) {
    const message = 'The application may not use this grant type.';
    throw oauthError('unauthorized_client', message, 'grant_type_not_allowed');
  }
  grant.permit?.(current);
}

function newExchange(
  deps: PipelineDeps,
  given: {
    readonly request: TokenRequest;
    readonly client: ApplicationRecord;
    readonly issuer: string;
    readonly ipAddress: string;
  },
  context: CallContext,
): Exchange {
  const { request, client, issuer, ipAddress } = given;
  return {
    ...client,
    request,
    requestedScopes: parseScope(request.scope),
    issuer,
    trail: { requestId: context.requestId, ipAddress },
    tokenId: deps.runtime.random.bytes(16).toString('base64url'),
    call: () => context.onward(),
    throwIfAborted() {
      if (context.signal.aborted) {
        throw temporarilyUnavailable(new Error('the caller gave up before the commit'));
      }
      // Refuses if no time is left, also while the timer of the deadline is late because the process is busy.
      context.onward();
    },
  };
}
