import type { KeyObject } from 'node:crypto';
import { createSealing } from '../ground/sealing.ts';
import type { DeclaredProvider, ProviderRecord } from './fields.ts';

/** Whose secret it is: a secret sent to another issuer than its own would be lost. */
type Registration = Pick<ProviderRecord, 'name' | 'issuer' | 'clientId'>;

/** Encrypts the secrets with which we authenticate to the providers of tenants. */
export interface ProviderSecrets {
  /**
   * What is stored of the secrets that are declared, by the names of their providers. A secret that has not changed
   * stays as it is.
   */
  sealed(
    tenantId: string,
    declared: readonly DeclaredProvider[],
    stored: readonly ProviderRecord[],
  ): Promise<Map<string, string>>;
  /** Throws `temporarily_unavailable` for one that was sealed under another pepper. */
  open(tenantId: string, provider: ProviderRecord): Promise<string>;
}

export function createProviderSecrets(pepper: KeyObject): ProviderSecrets {
  const sealing = createSealing(pepper, 'providers.sealing');

  async function sealedSecret(tenantId: string, declared: DeclaredProvider, present?: ProviderRecord) {
    const { clientSecret } = declared;
    if (clientSecret === undefined) return [];
    const subject = subjectOf(tenantId, declared);
    // One that cannot be read, because the pepper was replaced, is sealed anew.
    const known = present && (await sealing.open(subject, present.sealedSecret).catch(() => undefined));
    const secret = Buffer.from(clientSecret);
    const sealed =
      present !== undefined && known?.equals(secret) === true
        ? present.sealedSecret
        : await sealing.seal(subject, secret);
    return [[declared.name, sealed] as const];
  }

  return {
    async sealed(tenantId, declared, stored) {
      const present = new Map(stored.map((record) => [record.name, record]));
      const entries = declared.map((one) => sealedSecret(tenantId, one, present.get(one.name)));
      return new Map((await Promise.all(entries)).flat());
    },

    open: async (tenantId, provider) =>
      (await sealing.open(subjectOf(tenantId, provider), provider.sealedSecret)).toString(),
  };
}

/** Whether a stored secret is for what is declared. */
export function keepsSecret(declared: Registration, present: Registration | undefined): boolean {
  return present?.issuer === declared.issuer && present.clientId === declared.clientId;
}

function subjectOf(tenantId: string, { name, issuer, clientId }: Registration): string {
  return JSON.stringify([tenantId, name, issuer, clientId]);
}
