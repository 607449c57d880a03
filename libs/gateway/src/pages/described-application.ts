import { Code, ConnectError, rootCall } from '@tessera/rpc';
import type { GetApplicationResponse } from '@tessera/proto-gen/directory';
import type { PageContext } from './page-context.ts';

/** What the built-in scopes allow (OIDC Core §5.4 and §11). */
const builtInDescriptions: Readonly<Record<string, string>> = {
  openid: 'know who you are',
  profile: 'see your name and profile',
  email: 'see your e-mail address',
  phone: 'see your phone number',
  address: 'see your address',
  offline_access: "keep access when you're not using it",
};

/** What a scope allows: in our words if it is built in, else in those of the tenant's administrators. */
export function describeScope(name: string, declared = ''): { name: string; description: string } {
  return { name, description: builtInDescriptions[name] ?? declared };
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
