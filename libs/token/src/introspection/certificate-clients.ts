/** What a caller with a certificate may introspect; an empty list means no restriction. */
export interface CertificateClient {
  readonly tenants: readonly string[];
  readonly audiences: readonly string[];
}

/** By the name in the certificate. If there is any, callers with another name may introspect nothing. */
export type CertificateClients = ReadonlyMap<string, CertificateClient>;

const tenantId = /^[^\s=;]+$/;

/**
 * Parses entries of the form `name=tenant audience audience`: the name in the certificate (a DNS name or a SPIFFE ID),
 * its tenants separated by `;` or `*` for all, then the audiences that restrict it, if any. Undefined if an entry has
 * another form or a name appears twice.
 */
export function parseCertificateClients(entries: readonly string[]): CertificateClients | undefined {
  const clients = new Map<string, CertificateClient>();
  for (const entry of entries) {
    const at = entry.indexOf('=');
    const name = entry.slice(0, at).trim();
    const [tenants = '', ...audiences] = entry
      .slice(at + 1)
      .trim()
      .split(/\s+/);
    const list = tenants === '*' ? [] : tenants.split(';');
    if (at < 1 || name === '' || clients.has(name) || !list.every((id) => tenantId.test(id)))
      return undefined;
    clients.set(name, { tenants: list, audiences });
  }
  return clients;
}
