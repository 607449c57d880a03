import { issuesLikeKeycloak } from '@tessera/oauth';
import type { PendingRequest } from '@tessera/proto-gen/device';
import { describeScopes, findApplication, type DescribedScopes } from '../described-application.ts';
import type { PageContext } from '../page-context.ts';

/** What a person reads about a request before deciding. */
export interface RequestDescription extends DescribedScopes {
  readonly requestId: string;
  readonly clientId: string;
  readonly application: string;
  readonly bindingMessage: string;
  readonly ipAddress: string;
  /** Whether it has to ask again for access that it does not keep. Like Keycloak, it keeps it for the session. */
  readonly asksAgain: boolean;
  /** Whether the request came from the person's own address; a phished request rarely does. */
  readonly sameAddress: boolean;
}

/** Describes a request with the words of the tenant's administrators. */
export async function describeRequest(
  context: PageContext,
  pending: PendingRequest,
): Promise<{ description: RequestDescription; tenantName: string }> {
  const { application, tenant } = await findApplication(context, pending.clientId);
  const { requestId, clientId, applicationName, bindingMessage, ipAddress } = pending;
  const scopes = describeScopes(application, pending.scopes);
  const description = {
    requestId,
    clientId,
    application: applicationName,
    bindingMessage,
    ...scopes,
    asksAgain: !scopes.keepsAccess && tenant !== undefined && !issuesLikeKeycloak(tenant),
    ipAddress,
    sameAddress: ipAddress === context.request.incoming.ipAddress,
  };
  return { description, tenantName: tenant?.name ?? '' };
}
