import type { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import type { TenantsService } from '@tessera/proto-gen/admin-tenants';
import type { CallOptions, Client } from '@tessera/rpc';
import { applyFile, diffFile, type ApplyFileOptions } from '../apply/apply-file.ts';

type Options = Parameters<typeof applyFile>[1] & Parameters<typeof diffFile>[1];

interface DeclaredFile extends Omit<Options, keyof ApplyFileOptions>, Pick<Options, 'owner' | 'takeOver'> {
  readonly document: string;
  /** Default: `state.yaml`. */
  readonly fileName?: string;
}

/** Files of any tenants, as an operator applies them; a file is a text. */
export function declaredFiles(declaredState: Client<typeof DeclaredStateService>) {
  const optionsOf = ({ document, fileName = 'state.yaml', ...options }: DeclaredFile, call: CallOptions) =>
    [fileName, { ...options, declaredState, call, environment: {}, read: async () => document }] as const;
  return {
    apply: async (file: DeclaredFile, call: CallOptions) => applyFile(...optionsOf(file, call)),
    diff: async (file: DeclaredFile, call: CallOptions) => diffFile(...optionsOf(file, call)),
    /** The declared state of one tenant. Throws ConnectError. */
    written: async (tenantId: string, call: CallOptions) =>
      (await declaredState.get({ tenantId }, call)).document,
    /** Of all tenants, by their identifiers. */
    async all(tenants: Client<typeof TenantsService>, call: CallOptions): Promise<readonly string[]> {
      const documents: string[] = [];
      for (const { tenantId } of (await tenants.list({ pageSize: 1000 }, call)).tenants)
        documents.push((await declaredState.get({ tenantId }, call)).document);
      return documents;
    },
  };
}
