import { Code, ConnectError, rootCall } from '@tessera/rpc';
import type { PendingRequest } from '@tessera/proto-gen/device';
import type { GetApplicationResponse } from '@tessera/proto-gen/directory';
import type { Visit } from './handler.ts';

/** What a person reads of a request before deciding. */
export interface RequestView {
  readonly requestId: string;
  readonly application: string;
  readonly bindingMessage: string;
  readonly scopes: readonly { readonly name: string; readonly description: string }[];
  readonly ipAddress: string;
  /** Whether the request came from the address the person is at, which a request planted by somebody else rarely does. */
  readonly sameAddress: boolean;
}

/** What the built-in scopes give (OIDC Core §5.4 and §11). */
const builtInDescriptions: Readonly<Record<string, string>> = {
  openid: 'know who you are',
  profile: 'see your name',
  email: 'see your e-mail address',
  phone: 'see your phone number',
  offline_access: 'stay connected while you are away',
};

/** Describes a request with the words of the tenant's administrators. */
export async function viewRequest(
  visit: Visit,
  pending: PendingRequest,
): Promise<{ view: RequestView; tenantName: string }> {
  const { application, tenant } = await findApplication(visit, pending.clientId);
  const described = new Map(
    application?.scopes.map(({ name, description, resourceName }) => [
      name,
      description === '' ? `use ${resourceName}` : description,
    ]),
  );
  const { requestId, applicationName, bindingMessage, ipAddress } = pending;
  const view = {
    requestId,
    application: applicationName,
    bindingMessage,
    scopes: pending.scopes.map((name) => ({
      name,
      description: builtInDescriptions[name] ?? described.get(name) ?? '',
    })),
    ipAddress,
    sameAddress: ipAddress === visit.request.incoming.ipAddress,
  };
  return { view, tenantName: tenant?.name ?? '' };
}

async function findApplication(
  { request, gateway }: Visit,
  clientId: string,
): Promise<Partial<Pick<GetApplicationResponse, 'application' | 'tenant'>>> {
  try {
    return await gateway.peers.directory.getApplication({ clientId }, rootCall(request.incoming.requestId));
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.NotFound) return {};
    throw error;
  }
}
