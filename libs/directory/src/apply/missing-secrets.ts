import type { Problem } from '../declared/declared-state-error.ts';
import type { ReadState } from '../declared/read.ts';
import type { DeclaredTenant } from '../declared/schema.ts';
import type { TenantState } from '../plans/tenant-state.ts';
import { keepsSecret } from '../providers/provider-secrets.ts';

/** No secret is sent to an issuer for which it was not declared. */
export function missingSecrets(
  read: ReadState,
  { providers }: Pick<DeclaredTenant, 'providers'>,
  state: TenantState | undefined,
): Problem[] {
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
