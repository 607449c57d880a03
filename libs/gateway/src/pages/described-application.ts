import { Code, ConnectError, rootCall } from '@tessera/rpc';
import type { OwnWords } from '@tessera/languages';
import type { Application, GetApplicationResponse, GrantedScope } from '@tessera/proto-gen/directory';
import type { PageContext } from './page-context.ts';
import { servesTenant } from './signed-in-person.ts';

/** What the built-in scopes allow (OIDC Core §5.4 and §11). */
const builtInDescriptions: Readonly<Record<string, string>> = {
  openid: 'know who you are',
  profile: 'see your name and profile',
  email: 'see your email address',
  phone: 'see your phone number',
  address: 'see your address',
  offline_access: "keep access when you're not using it",
};

/** What a scope allows, in the words that a page takes by `it.own`; empty where nobody says it. */
export interface DescribedScope extends OwnWords {
  readonly name: string;
}

/** In our words if it is built in, else in those of the tenant's administrators, at least by the name of its API. */
function describeScope(name: string, declared: Partial<GrantedScope> | undefined): DescribedScope {
  const builtIn = builtInDescriptions[name];
  if (builtIn !== undefined) return { name, description: builtIn };
  const { description = '', descriptions = {}, resourceName: resource = '' } = declared ?? {};
  if (description === '' && Object.keys(descriptions).length === 0 && resource !== '')
    return { name, description: 'use {resource}', values: { resource } };
  return { name, description, descriptions };
}

/** What an application asks for; long lists of one API below its name. */
export interface DescribedScopes {
  /** Whether it has access until the person takes it back. */
  readonly keepsAccess: boolean;
  readonly scopes: readonly DescribedScope[];
  /** APIs of which so many scopes are asked for that they are listed below its name. */
  readonly apis: readonly { readonly name: string; readonly scopes: readonly DescribedScope[] }[];
}

/** Beyond so many scopes of one API nobody reads the others. */
const mostListed = 5;

/** @param names of scopes; `resource <audience>` is an API without one, as the step of the consent names it */
export function describeScopes(
  application: Application | undefined,
  names: readonly string[],
): DescribedScopes {
  const declared = new Map(application?.scopes.map((scope) => [scope.name, scope]));
  const ofApi = new Map(
    application?.scopes.map((scope) => [`resource ${scope.audience}`, scope.resourceName]),
  );
  const describe = (name: string) =>
    describeScope(name, declared.get(name) ?? { resourceName: ofApi.get(name) ?? '' });
  const byApi = Map.groupBy(names, (name) => declared.get(name)?.audience ?? '');
  const long = [...byApi].filter(([audience, ofIt]) => audience !== '' && ofIt.length > mostListed);
  const below = new Set(long.flatMap(([, ofIt]) => ofIt));
  return {
    keepsAccess: names.includes('offline_access'),
    scopes: names.filter((name) => !below.has(name)).map(describe),
    apis: long.map(([audience, ofIt]) => ({
      name: declared.get(ofIt[0] ?? '')?.resourceName || audience,
      scopes: ofIt.map(describe),
    })),
  };
}

/**
 * An application with its tenant; undefined if it is not known at this issuer, or cannot be found out, which is no
 * reason to show no page.
 */
export async function servedApplication(
  { request, gateway }: Pick<PageContext, 'request' | 'gateway'>,
  clientId: string,
): Promise<GetApplicationResponse | undefined> {
  if (clientId === '') return undefined;
  const call = rootCall(request.incoming.requestId);
  const found = await gateway.peers.directory.getApplication({ clientId }, call).catch(() => undefined);
  const { tenant } = found ?? {};
  return tenant !== undefined && servesTenant({ request, gateway }, tenant.tenantId) ? found : undefined;
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
