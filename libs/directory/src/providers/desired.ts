import { desiredOf } from '../fields/field.ts';
import { providerFields, type DeclaredProvider, type ProviderRecord } from './fields.ts';
import { keepsSecret } from './provider-secrets.ts';

/**
 * The record that a declared provider asks for, given the present one. `sealedSecret` is undefined if no secret is
 * declared.
 */
export function desiredProvider(
  declared: DeclaredProvider,
  present: ProviderRecord | undefined,
  { owner, sealedSecret }: { readonly owner: string; readonly sealedSecret: string | undefined },
): ProviderRecord {
  const kept = keepsSecret(declared, present) ? present?.sealedSecret : undefined;
  return {
    ...desiredOf(providerFields, declared, present),
    owner,
    sealedSecret: sealedSecret ?? kept ?? '',
  };
}
