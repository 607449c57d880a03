import type { Report } from '../fields/field-checks.ts';

/** An issuer identifies its tenant. Requests are matched by host and path, so these must differ. */
export function checkIssuers(tenants: readonly { readonly issuer: string }[], report: Report): void {
  const known = new Set<string>();
  tenants.forEach(({ issuer }, index) => {
    if (issuer === '') return;
    const place = issuer.replace(/^https?:/, '');
    if (known.has(place)) report(['tenants', index, 'issuer'], 'is declared twice');
    known.add(place);
  });
}
