import { refuseRepeated, type Report } from '../fields/field-checks.ts';

interface HasDomains {
  readonly name: string;
  readonly issuer: string;
  readonly domains: readonly string[];
}

/**
 * The rules of the providers of a tenant that involve more than one key.
 * @param others providers of the tenant that are not checked
 */
export function checkProviders(
  { issuer, providers }: { readonly issuer: string; readonly providers: readonly HasDomains[] },
  report: Report,
  others: readonly Pick<HasDomains, 'domains'>[] = [],
): void {
  refuseRepeated(
    providers.map(({ name }) => name),
    (index) => report(['providers', index, 'name'], 'is declared twice'),
  );
  const known = new Set(others.flatMap(({ domains }) => domains));
  providers.forEach((provider, providerIndex) => {
    if (issuer !== '' && provider.issuer === issuer)
      report(['providers', providerIndex, 'issuer'], 'is the issuer of the tenant itself');
    provider.domains.forEach((domain, index) => {
      if (known.has(domain))
        report(
          ['providers', providerIndex, 'domains', index],
          'is declared twice, here or by another owner; a domain belongs to one provider of its tenant',
        );
      known.add(domain);
    });
  });
}
