import type { ClientSecrets } from '../secrets/client-secrets.ts';
import { desiredOf } from '../fields/field.ts';
import { applicationFields, type ApplicationRecord, type DeclaredApplication } from './fields.ts';
import type { SecretRecord } from '../secrets/declared-secrets.ts';

/** The record that a declared application asks for, given the present one, which keeps secrets that none replaces. */
export function desiredApplication(
  tenantId: string,
  declared: DeclaredApplication,
  current: ApplicationRecord | undefined,
  { owner, secrets }: { readonly owner: string; readonly secrets: ClientSecrets },
): ApplicationRecord {
  const { clientId } = declared;
  const kept =
    declared.type === 'confidential' && declared.secrets.length === 0 ? current?.secrets : undefined;
  const known = current?.secrets.map(({ digest }) => digest) ?? [];
  const age = ({ digest }: SecretRecord) => (known.includes(digest) ? known.indexOf(digest) : known.length);
  return {
    ...desiredOf(applicationFields, declared, current),
    owner,
    secrets:
      kept ??
      declared.secrets
        .map((secret) => ({
          digest: secrets.digest(tenantId, clientId, secret.value),
          expiresAt: secret.expiresAt,
        }))
        .sort((left, right) => age(left) - age(right)),
  };
}
