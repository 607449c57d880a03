import type { ProviderRecord } from './fields.ts';

/**
 * Whether a provider may say whose the addresses of a domain are: a domain of its own or, if it has none, one that no
 * other provider of the tenant has, nor one above it. Of what is no domain nobody may.
 * @param domain as `domainOfEmail` has it
 */
export function vouchesFor(
  { domains }: Pick<ProviderRecord, 'domains'>,
  domain: string | undefined,
  all: readonly Pick<ProviderRecord, 'domains'>[],
): boolean {
  if (domain === undefined) return false;
  if (domains.length > 0) return domains.includes(domain);
  return !all.some((other) => other.domains.some((own) => domain === own || domain.endsWith(`.${own}`)));
}
