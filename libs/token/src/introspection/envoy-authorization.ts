import { epochSeconds } from '@tessera/kit';
import type { CallContext, Handlers } from '@tessera/rpc';
import {
  bearerToken,
  forwardAuthChallenge,
  identityHeaders,
  OAuthError,
  requireDemanded,
  routeDemand,
  type RouteDemand,
  type IntrospectedToken,
} from '@tessera/oauth';
import type { Authorization, CheckRequest, DeniedHttpResponse } from '@tessera/proto-gen/envoy';
import { HeaderValueOption_HeaderAppendAction as AppendAction } from '@tessera/proto-gen/envoy-headers';
import { TokenKind } from '@tessera/proto-gen/token';
import { introspectUnnamed, type IntrospectionDeps, type IntrospectionResult } from './introspection.ts';

type CheckAnswer = Awaited<ReturnType<Handlers<typeof Authorization>['check']>>;

/** Envoy numbers them as HTTP does. */
type StatusCode = NonNullable<DeniedHttpResponse['status']>['code'];

/** google.rpc.Code */
const ok = 0;
const permissionDenied = 7;

/**
 * Answers Envoy (ext_authz) whether a request may pass, as `GET /auth/verify` does: OK with headers that describe the
 * caller, or the response for the client: 401 or 403 with a challenge (RFC 6750 §3), 400 if the route does not say what
 * it demands, 503. The decision of a token that cannot be checked is a response too: an error would pass in a proxy
 * with `failure_mode_allow`. A token that the proxy may not introspect is invalid, and so is one of a tenant's own
 * issuer if the route demands neither a tenant nor an issuer: another tenant may declare the same audience. A proxy
 * that is a client sees its own tenant's tokens alone.
 */
export async function checkForEnvoy(
  deps: IntrospectionDeps,
  { attributes }: CheckRequest,
  context: CallContext,
): Promise<CheckAnswer> {
  const demanded = new Map(Object.entries(attributes?.contextExtensions ?? {}));
  const authorization = attributes?.request?.http?.headers['authorization'];
  try {
    const demand = routeDemand(demanded);
    const token = accessTokenIn(
      await introspectUnnamed(deps, { token: bearerToken(authorization) }, context),
    );
    const isOfIssuer = token !== undefined && (await acceptsIssuer(deps, demand, token, context));
    const now = epochSeconds(deps.runtime.clock);
    return allowed(identityHeaders(requireDemanded(isOfIssuer ? token : undefined, demand, now)));
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    return denied(error, forwardAuthChallenge(error, demanded, authorization));
  }
}

async function acceptsIssuer(
  { directory }: IntrospectionDeps,
  { tenantId, issuer }: RouteDemand,
  { iss }: IntrospectedToken,
  { principal }: CallContext,
): Promise<boolean> {
  if (tenantId !== undefined || issuer !== undefined || principal?.kind === 'client') return true;
  return !(await directory.tenantIssuers()).has(iss);
}

function accessTokenIn(result: IntrospectionResult): IntrospectedToken | undefined {
  if (!result.active || result.kind !== TokenKind.ACCESS_TOKEN) return undefined;
  const { aud = '', audiences = [], role = [], acr = '', authTime = 0n } = result;
  return { ...result, aud, audiences, role, acr, authTime };
}

/** Every identity header that the client sent itself is replaced, or removed if there is no value for it. */
function allowed(identity: Readonly<Record<string, string>>): CheckAnswer {
  const headers = Object.entries(identity);
  return {
    status: { code: ok },
    httpResponse: {
      case: 'okResponse',
      value: {
        headers: headers.filter(([, value]) => value !== '').map(([key, value]) => header(key, value)),
        headersToRemove: headers.filter(([, value]) => value === '').map(([key]) => key),
      },
    },
  };
}

function denied(error: OAuthError, challenge: string | undefined): CheckAnswer {
  const { code, message, status, retryAfterSeconds } = error;
  const headers = [header('content-type', 'application/json'), header('cache-control', 'no-store')];
  if (challenge !== undefined) headers.push(header('www-authenticate', challenge));
  if (retryAfterSeconds !== undefined) headers.push(header('retry-after', String(retryAfterSeconds)));
  return {
    status: { code: permissionDenied, message },
    httpResponse: {
      case: 'deniedResponse',
      value: {
        status: { code: status as StatusCode },
        headers,
        body: JSON.stringify({ error: code, error_description: message }),
      },
    },
  };
}

function header(key: string, value: string) {
  return { header: { key, value }, appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD };
}
