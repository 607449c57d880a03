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
  /** Whether it has access until the person takes it back; else it has to ask again. */
  readonly keepsAccess: boolean;
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
  const description = {
    requestId,
    clientId,
    application: applicationName,
    bindingMessage,
    ...describeScopes(application, pending.scopes),
    keepsAccess: pending.scopes.includes('offline_access'),
    ipAddress,
    sameAddress: ipAddress === context.request.incoming.ipAddress,
  };
  return { description, tenantName: tenant?.name ?? '' };
}
