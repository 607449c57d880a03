import { parse, stringify } from 'yaml';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { OAuthError, providerAnswerUri } from '@tessera/oauth';
import { Code, ConnectError } from '@tessera/rpc';
import { param, pathOf, type Visit } from '../../console-visit.ts';

/** As whom the console declares providers, which are only written by documents. */
const writer = 'console';

/** Records of these kinds stay that a document of the console leaves out. */
const otherKinds = ['resource', 'role', 'user', 'application'];

/** A provider as a document has it. What of it the console does not show stays as it is. */
export interface DeclaredProvider {
  readonly name: string;
  readonly issuer?: string;
  readonly clientId?: string;
  readonly displayName?: string;
  readonly preset?: string;
  readonly domains?: readonly string[];
  readonly linking?: string;
  readonly createsAccounts?: boolean;
  readonly clientSecret?: string;
}

/** The providers of the organization of a path, and the issuer at which its people sign in. */
export async function providersOf(visit: Visit) {
  const tenantId = param(visit, 'tenant');
  const { api, call } = visit;
  // First, as its refusal says what is missing.
  const tenant = await api(TenantsService).get({ tenantId }, call());
  const get = { tenantId, kinds: ['provider'] };
  const [all, ours] = await Promise.all([
    api(DeclaredStateService).get(get, call()),
    api(DeclaredStateService).get({ ...get, owner: writer }, call()),
  ]);
  const own = new Set(providersIn(ours.document).map(({ name }) => name));
  const listed = providersIn(all.document).map((provider) => ({ provider, isOurs: own.has(provider.name) }));
  return { listed, issuer: tenant.issuer || visit.issuer };
}

function providersIn(document: string): readonly DeclaredProvider[] {
  const { tenants } = parse(document) as {
    readonly tenants: readonly { readonly providers?: readonly DeclaredProvider[] }[];
  };
  return tenants.flatMap(({ providers = [] }) => providers);
}

/** The provider of a path. Throws `not_found`. */
export async function providerOf(visit: Visit) {
  const { listed, issuer } = await providersOf(visit);
  const found = listed.find(({ provider }) => provider.name === param(visit, 'provider'));
  if (found === undefined) throw new OAuthError('not_found', 'Not found.');
  return { ...found, listed, redirectUri: redirectUriOf(visit, issuer, found.provider.name) };
}

/** What is registered at the provider. */
export function redirectUriOf(visit: Visit, issuer: string, name: string): string {
  return providerAnswerUri(issuer, param(visit, 'tenant'), name);
}

export function pathOfProvider(visit: Visit, name = param(visit, 'provider')): string {
  return pathOf(param(visit, 'tenant'), 'providers', name);
}

/** A request that declares these providers; with `keepsOthers` those that it leaves out stay. */
export function declaring(visit: Visit, providers: readonly DeclaredProvider[], keepsOthers: boolean) {
  const tenantId = param(visit, 'tenant');
  return {
    tenantId,
    document: stringify({ tenants: [{ id: tenantId, providers }] }),
    owner: writer,
    fileName: writer,
    keptKinds: keepsOthers ? [...otherKinds, 'provider'] : otherKinds,
  };
}

/** What of a change would end, before it is made. */
export async function impactOf(visit: Visit, request: ReturnType<typeof declaring>) {
  const answer = await visit.api(DeclaredStateService).diff({ ...request, impact: true }, visit.call());
  return answer.impact;
}

/**
 * Makes a change, and no other: somebody may have changed another provider meanwhile.
 * @param deletes the one that it deletes
 */
export async function declare(
  visit: Visit,
  request: ReturnType<typeof declaring>,
  { deletes }: { readonly deletes?: string } = {},
): Promise<void> {
  const { api, call } = visit;
  const { etag, differences } = await api(DeclaredStateService).diff(request, call());
  const others = differences.filter(({ change, name }) => change === 'deleted' && name !== deletes);
  if (others.length > 0)
    throw new ConnectError('The providers have changed meanwhile. Look at them again.', Code.Aborted);
  const allowDelete = deletes !== undefined;
  await api(DeclaredStateService).apply({ ...request, etag, allowDelete }, call());
}
