import {
  ClientRefusal,
  refusedClient,
  type ApplicationRecord,
  type DirectoryClient,
  type RequestedIssuer,
} from '@tessera/directory-client';
import { addressKey } from '@tessera/stores';
import type { CallContext } from '@tessera/rpc';
import type { Limiter, LimitRule } from '@tessera/stores';
import { OAuthError, type GrantTypeName } from '@tessera/oauth';
import type { DeviceAudit, RequestingClient } from '../audit.ts';
import { count, separately } from '../limits.ts';
import type { GrantKind, Trail } from '../pending-grant.ts';

/** The parameters common to the start of both flows. */
export interface StartRequest {
  readonly clientId: string;
  /** Empty when none was sent. */
  readonly clientSecret: string;
  /** Empty when none was sent. */
  readonly clientAssertion: string;
  readonly clientAssertionType: string;
  /** Whether credentials were sent at all: an empty secret is a wrong secret. */
  readonly attempted: boolean;
  readonly ipAddress: string;
  readonly at: RequestedIssuer;
  readonly scope: string;
  /** RFC 8707 §2; empty when absent. */
  readonly resource: string;
}

/** A client that is known, active, within its limits and allowed to use the flow. */
export interface AdmittedClient extends ApplicationRecord {
  readonly trail: Trail;
  /** Whether it proved its identity with a secret. Anyone can send the identifier of a client. */
  readonly authenticated: boolean;
}

export interface ClientAdmission {
  /**
   * Identifies the client, counts the request, runs `work` and audits a refusal. Throws
   * `invalid_client`, `unauthorized_client`, `rate_limited` besides what `work` throws.
   */
  admit<T>(
    kind: GrantKind,
    request: StartRequest,
    call: CallContext,
    work: (client: AdmittedClient) => Promise<T>,
  ): Promise<T>;
}

/** The limits of authenticated starts; the others are counted separately, up to the same limits. */
export interface StartLimits {
  readonly client: LimitRule;
  readonly address: LimitRule;
}

const grantTypeOf: Readonly<Record<GrantKind, GrantTypeName>> = {
  device_code: 'device_code',
  auth_req_id: 'ciba',
};

export function createClientAdmission(deps: {
  readonly directory: DirectoryClient;
  readonly limiter: Limiter;
  readonly limits: StartLimits;
  readonly audit: DeviceAudit;
  /** Whether confidential clients must authenticate; otherwise their identifier is enough. */
  readonly requireAuthentication: boolean;
}): ClientAdmission {
  const { directory, limiter, limits, audit, requireAuthentication } = deps;

  async function identify(request: StartRequest, call: CallContext): Promise<ApplicationRecord> {
    const { clientId, clientSecret, clientAssertion, clientAssertionType, attempted, ipAddress, at } =
      request;
    if (clientId === '' && clientAssertion === '')
      throw new OAuthError('invalid_request', 'The parameter client_id is missing.');
    const authenticate = (accepts: 'public' | 'identified'): Promise<ApplicationRecord> =>
      directory.authenticateClient(
        { clientId, clientSecret, clientAssertion, clientAssertionType },
        { ipAddress, accepts, at },
        call.onward(),
      );
    if (attempted || requireAuthentication) return authenticate('public');
    const client = await authenticate('identified');
    return client.application.authenticatedStartRequired ? authenticate('public') : client;
  }

  async function admitted(
    starter: RequestingClient,
    request: StartRequest,
    call: CallContext,
    trail: Trail,
  ): Promise<AdmittedClient> {
    const onLimit = (rule: string): void => audit.limited(trail, starter, rule);
    // What is sent is verified, so every client that passes `identify` with a secret or an assertion is authenticated.
    const authenticated = request.clientSecret !== '' || request.clientAssertion !== '';
    const countAddress = (): Promise<void> =>
      count(limiter, separately(limits.address, authenticated), addressKey(request.ipAddress), onLimit);
    // Wrong secrets have limits of their own, and must not use up those of a client at the same address.
    if (!authenticated) await countAddress();
    const client = await identify(request, call);
    if (authenticated) await countAddress();
    // Last: an address over its limit must not use up the requests of an application.
    const { clientId } = client.application;
    await count(limiter, separately(limits.client, authenticated), clientId, onLimit);
    return { ...client, trail, authenticated };
  }

  return {
    async admit(kind, request, call, work) {
      const trail = { requestId: call.requestId, ipAddress: request.ipAddress };
      let starter: RequestingClient = { kind, clientId: request.clientId };
      try {
        const client = await admitted(starter, request, call, trail);
        starter = { ...starter, clientId: client.application.clientId, tenantId: client.tenant.tenantId };
        if (!client.application.grantTypes.includes(grantTypeOf[kind])) {
          throw new OAuthError('unauthorized_client', 'The application may not use this flow.');
        }
        return await work(client);
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error;
        // Who sends an assertion alone is known by what it proves.
        const { clientId = '' } = error.cause instanceof ClientRefusal ? error.cause : starter;
        if (starter.clientId === '') starter = { ...starter, clientId };
        if (isRefusal(error)) audit.startRefused(trail, starter, error);
        const phase = starter.tenantId === undefined ? 'client' : 'parameters';
        throw refusedClient(error, directory, { clientId: starter.clientId, phase, reason: undefined });
      }
    },
  };
}

/** Whether the client is at fault. Limits have their own event, and server failures are no refusal. */
function isRefusal({ code }: OAuthError): boolean {
  return code !== 'rate_limited' && code !== 'temporarily_unavailable' && code !== 'server_error';
}
