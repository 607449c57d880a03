/** What the caller of a certificate is bound to; an empty list is no bound. */
export interface Binding {
  readonly tenants: readonly string[];
  readonly audiences: readonly string[];
}

/** By the name in the certificate. Where there is any, callers that are not named see nothing. */
export type Bindings = ReadonlyMap<string, Binding>;

const tenantId = /^[^\s=;]+$/;

/**
 * Reads `name=tenant audience audience,name=tenant,...`: the name in the certificate (a DNS name or a SPIFFE id), its
 * tenants separated by `;` or `*` for all, and the audiences it answers for, where it is bound to some.
 * Undefined when the text is not of this form or a name appears twice.
 */
export function parseBindings(entries: readonly string[]): Bindings | undefined {
  const bindings = new Map<string, Binding>();
  for (const entry of entries) {
    const at = entry.indexOf('=');
    const name = entry.slice(0, at).trim();
    const [tenants = '', ...audiences] = entry
      .slice(at + 1)
      .trim()
      .split(/\s+/);
    const list = tenants === '*' ? [] : tenants.split(';');
    if (at < 1 || name === '' || bindings.has(name) || !list.every((id) => tenantId.test(id)))
      return undefined;
    bindings.set(name, { tenants: list, audiences });
  }
  return bindings;
}
