import type { Problem } from '../../declared/declared-state-error.ts';
import type { ReadState } from '../../declared/read.ts';
import type { DeclaredTenant } from '../../declared/schema.ts';
import type { TenantState } from '../../plans/tenant-state.ts';
import { provesOtherwise } from '../../applications/trusts.ts';
import { keepsSecret } from '../../providers/provider-secrets.ts';

/** What a file declares without a secret, and has none here either. */
export function missingSecrets(read: ReadState, tenant: Declared, state: TenantState | undefined): Problem[] {
  return [...ofProviders(read, tenant, state), ...ofApplications(read, tenant, state)];
}

type Declared = Pick<DeclaredTenant, 'providers' | 'applications'>;

/** RFC 6749 §2.1: a confidential client has a secret, or something better. */
function ofApplications(
  read: ReadState,
  { applications }: Declared,
  state: TenantState | undefined,
): Problem[] {
  const present = new Map(state?.applications.map((record) => [record.clientId, record]));
  return applications.flatMap(({ clientId, type, secrets, ...application }, place) =>
    type === 'public' ||
    secrets.length > 0 ||
    provesOtherwise(application) ||
    (present.get(clientId)?.secrets ?? []).length > 0
      ? []
      : [
          read.problem(
            ['tenants', 0, 'applications', place, 'secrets'],
            'a confidential application needs a secret, publicKeys, jwksUri or trusts',
          ),
        ],
  );
}

/** No secret is sent to an issuer for which it was not declared. */
function ofProviders(read: ReadState, { providers }: Declared, state: TenantState | undefined): Problem[] {
  const present = new Map(state?.providers.map((record) => [record.name, record]));
  return providers.flatMap((provider, place) =>
    provider.clientSecret !== undefined || keepsSecret(provider, present.get(provider.name))
      ? []
      : [
          read.problem(
            ['tenants', 0, 'providers', place, 'clientSecret'],
            'is required for a new provider, and if issuer or clientId change',
          ),
        ],
  );
}
