/** An object of an export. */
export type Node = Readonly<Record<string, unknown>>;

/** Clients of Keycloak itself. */
const own = new Set([
  'account',
  'account-console',
  'admin-cli',
  'broker',
  'realm-management',
  'security-admin-console',
]);

export function node(value: unknown): Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Node) : {};
}

/** The objects of a list. */
export function list(value: unknown): readonly Node[] {
  return Array.isArray(value) ? value.map(node) : [];
}

export function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(text) : [];
}

export function text(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

export function flag(value: unknown): boolean {
  return value === true || value === 'true';
}

/** The clients of a realm, but for Keycloak's own. */
export function clientsOf(realm: Node): readonly Node[] {
  return list(realm['clients']).filter(({ clientId }) => !own.has(text(clientId)));
}
