import {
  adminRoles,
  adminScopes,
  builtInPrefix,
  commandLineClientId,
  type authenticationPolicies,
} from '@tessera/oauth';
import type { TenantRecord } from '../tenants/fields.ts';
import { desiredOf } from '../fields/field.ts';
import type { FoundApplication } from './found-application.ts';
import { applicationFields, applicationWithoutSecrets } from './fields.ts';

const day = 24 * 3600;
const prefix = `${commandLineClientId()}.`;
const scopes = ['offline_access', ...adminScopes.keys()];

/** The policy of its logins, or `off` if there are none. */
export type CommandLineLogin = (typeof authenticationPolicies)[number] | 'off';

/**
 * The command line as an application, which every tenant has without a record, unless it is switched off. Undefined for
 * every other client id.
 */
export async function commandLineApplication(
  clientId: string,
  {
    store,
    operatorTenant,
    commandLineLogin,
  }: {
    readonly store: { findTenant(tenantId: string): Promise<TenantRecord | undefined> };
    readonly operatorTenant: string | undefined;
    readonly commandLineLogin: CommandLineLogin;
  },
): Promise<FoundApplication | undefined> {
  if (commandLineLogin === 'off' || !clientId.startsWith(builtInPrefix)) return undefined;
  const named = clientId.startsWith(prefix) ? clientId.slice(prefix.length) : undefined;
  const tenantId = clientId === commandLineClientId() ? operatorTenant : named;
  const tenant = tenantId === undefined ? undefined : await store.findTenant(tenantId);
  if (tenant === undefined) return undefined;
  const given = applicationWithoutSecrets.omit({ clientId: true }).parse({
    name: 'Tessera command line',
    type: 'public',
    grantTypes: ['device_code', 'refresh_token'],
    scopes,
    allowedRoles: [...adminRoles.keys()],
    authenticationPolicy: commandLineLogin,
  });
  const application = desiredOf(applicationFields, { ...given, clientId }, undefined);
  const lifetimes = { ...application.lifetimes, refreshTokenIdle: 7 * day, refreshTokenAbsolute: 30 * day };
  return {
    application: { ...application, lifetimes, owner: 'built-in' },
    scopes: scopes.map((name) => ({
      name,
      audience: '',
      description: '',
      resourceName: '',
      tokenType: '',
      scopeFormat: '',
      signingAlgorithm: '',
      roles: [],
    })),
    tenant,
    validFrom: 0,
  };
}
