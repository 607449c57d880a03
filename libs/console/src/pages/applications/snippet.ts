import type { Application } from '@tessera/proto-gen/admin-applications';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { kindNamed } from './application-kinds.ts';
import { param, type Visit } from '../../console-visit.ts';

/** What a program of a kind is made of, as the template `snippet` shows it; undefined for kinds without one. */
export async function snippetFor(
  visit: Visit,
  { clientId, redirectUris, scopes }: Pick<Application, 'clientId' | 'redirectUris' | 'scopes'>,
  kind: string,
) {
  if (kindNamed(kind) === undefined) return undefined;
  const tenant = await visit.api(TenantsService).get({ tenantId: param(visit, 'tenant') }, visit.call());
  const issuer = tenant.issuer || visit.issuer;
  const [redirectUri = ''] = redirectUris;
  const port = URL.parse(redirectUri)?.port ?? '';
  return {
    template: `snippets/${kind}`,
    issuer,
    clientId,
    redirectUri,
    scope: scopes.join(' '),
    port: port === '' ? '5173' : port,
    isPlain: issuer.startsWith('http:'),
  };
}
