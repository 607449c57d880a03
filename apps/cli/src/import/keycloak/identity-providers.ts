import type { Realm, Report } from './realm.ts';

/** Providers by whose `sub` Keycloak knows people, and with which they sign in by OpenID Connect here, too. */
const openid: ReadonlySet<string> = new Set(['google', 'keycloak-oidc', 'oidc']);

/** As a provider may be called here. */
const name = /^[a-z0-9][a-z0-9-]{0,62}$/;

/**
 * The aliases of the identity providers whose links come: people sign in with them there, and once they are declared
 * here. Reports what becomes of each.
 */
export function linkedProvidersOf({ identityProviders }: Realm, report: Report): ReadonlySet<string> {
  const linked = new Set<string>();
  for (const { alias, providerId, enabled, linkOnly } of identityProviders) {
    if (!openid.has(providerId)) report(`identity provider ${alias}: has no counterpart`);
    else if (!enabled || linkOnly) report(`identity provider ${alias}: nobody signs in with it there`);
    else if (!name.test(alias)) report(`identity provider ${alias}: no provider may have this name`);
    else {
      linked.add(alias);
      report(
        `identity provider ${alias}: only its links come, to a provider of this name that is declared before the import`,
      );
    }
  }
  return linked;
}
