/**
 * The API resources of a grant: none, one, or where its tenant lets it have several, these with spaces between, which
 * no audience has.
 */
export function resourcesIn(resource: string): string[] {
  return resource === '' ? [] : resource.split(' ');
}

/** All audiences of a token, by its claim `aud` (RFC 7519 §4.1.3). */
export function audiencesIn(aud: string | readonly string[]): readonly string[] {
  return typeof aud === 'string' ? [aud] : aud;
}

const ofRoles = ':*';

/** The audience that an entry of an application's `audiences` is about. */
export function audienceOfEntry(entry: string): string {
  return entry.endsWith(ofRoles) ? entry.slice(0, -ofRoles.length) : entry;
}

/**
 * The further audiences of a token that names these roles, by the `audiences` of its application: `orders:*` is
 * `orders` in a token with a role that begins with `orders:`.
 */
export function audiencesWithRoles(entries: readonly string[], roles: readonly string[]): string[] {
  const applies = (entry: string) =>
    !entry.endsWith(ofRoles) || roles.some((role) => role.startsWith(entry.slice(0, -1)));
  return entries.filter(applies).map(audienceOfEntry);
}
