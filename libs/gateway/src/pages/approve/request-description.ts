import { Code, ConnectError, rootCall } from '@tessera/rpc';
import type { PendingRequest } from '@tessera/proto-gen/device';
import type { GetApplicationResponse } from '@tessera/proto-gen/directory';
import type { PageContext } from '../page-context.ts';

/** What a person reads about a request before deciding. */
export interface RequestDescription {
  readonly requestId: string;
  readonly clientId: string;
  readonly application: string;
  readonly bindingMessage: string;
  readonly scopes: readonly { readonly name: string; readonly description: string }[];
  readonly ipAddress: string;
  /** Whether the request came from the person's own address; a phished request rarely does. */
  readonly sameAddress: boolean;
}

/** What the built-in scopes allow (OIDC Core §5.4 and §11). */
const builtInDescriptions: Readonly<Record<string, string>> = {
  openid: 'know who you are',
  profile: 'see your name and profile',
  email: 'see your e-mail address',
  phone: 'see your phone number',
  address: 'see your address',
  offline_access: 'stay connected while you are away',
};

/** What a scope allows: in our words if it is built in, else in those of the tenant's administrators. */
export function describeScope(name: string, declared = ''): { name: string; description: string } {
  return { name, description: builtInDescriptions[name] ?? declared };
}

/** Describes a request with the words of the tenant's administrators. */
export async function describeRequest(
  context: PageContext,
  pending: PendingRequest,
): Promise<{ description: RequestDescription; tenantName: string }> {
  const { application, tenant } = await findApplication(context, pending.clientId);
  const described = new Map(
    application?.scopes.map(({ name, description, resourceName }) => [
      name,
      description === '' ? `use ${resourceName}` : description,
    ]),
  );
  const { requestId, clientId, applicationName, bindingMessage, ipAddress } = pending;
  const description = {
    requestId,
    clientId,
    application: applicationName,
    bindingMessage,
    scopes: pending.scopes.map((name) => describeScope(name, described.get(name))),
    ipAddress,
    sameAddress: ipAddress === context.request.incoming.ipAddress,
  };
  return { description, tenantName: tenant?.name ?? '' };
}

/** An application with its tenant; neither if it is not known. */
export async function findApplication(
  { request, gateway }: PageContext,
  clientId: string,
): Promise<Partial<Pick<GetApplicationResponse, 'application' | 'tenant'>>> {
  try {
    return await gateway.peers.directory.getApplication({ clientId }, rootCall(request.incoming.requestId));
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.NotFound) return {};
    throw error;
  }
}
