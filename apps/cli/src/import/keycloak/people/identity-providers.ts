import type { Entry } from '../../files/imported.ts';
import { placeholder } from '../realm/imported-secrets.ts';
import type { Report } from '../realm/realm.ts';
import type { IdentityProvider, Realm } from '../realm/representation.ts';
import type { Choices } from '../realm/restrictions.ts';
import type { Roles } from '../realm/roles.ts';
import { createsPeople } from './first-sign-ins.ts';
import { providerMappings } from './provider-mappings.ts';

/** Providers by whose `sub` Keycloak knows people, and with which they sign in by OpenID Connect here, too. */
const presets: ReadonlyMap<string, string> = new Map([
  ['google', 'google'],
  ['keycloak-oidc', 'keycloak'],
  ['oidc', 'none'],
]);

/** As a provider may be called here. */
const name = /^[a-z0-9][a-z0-9-]{0,62}$/;
/** How Tessera may authenticate there. */
const bySecret = new Set(['', 'client_secret_basic', 'client_secret_post']);
const keycloakEndpoint = '/protocol/openid-connect/auth';

interface ReadProviders {
  readonly providers: Entry[];
  /**
   * The issuers of those whose links come, by alias: people sign in with them there, and here once they are declared.
   */
  readonly linked: ReadonlyMap<string, string>;
  /** A line for each that is to be declared, or told where people come back to. */
  readonly toDo: string[];
}

/**
 * The identity providers of a realm as providers of the tenant. Those do not come of which the file does not say
 * enough, or which would let in more people than there, unless that is accepted. Reports what of them is left out.
 */
export function providersOf(
  realm: Realm,
  { roles, acceptsWider }: { readonly roles: Roles } & Choices,
  report: Report,
): ReadProviders {
  const providers: Entry[] = [];
  const linked = new Map<string, string>();
  const toDo: string[] = [];
  for (const provider of realm.identityProviders) {
    const { alias, providerId, enabled, linkOnly } = provider;
    const tell = (line: string) => report(`identity provider ${alias}: ${line}`);
    const preset = presets.get(providerId);
    if (preset === undefined) tell('has no counterpart');
    else if (!enabled || linkOnly) tell('nobody signs in with it there');
    else if (!name.test(alias)) tell('no provider may have this name');
    else {
      const issuer = issuerOf(provider);
      if (issuer === '') {
        toDo.push(
          `identity provider ${alias}: the file does not say its issuer, so nobody knows whose its links are; set it there, and import a new export`,
        );
        continue;
      }
      linked.set(alias, issuer);
      const lacks = lackOf(provider, acceptsWider, tell);
      if (lacks === undefined) {
        providers.push({
          name: alias,
          preset,
          ...registrationOf(provider),
          createsAccounts: createsPeople(realm, provider, tell),
          ...providerMappings(realm, { alias, issuer }, roles, report),
        });
        toDo.push(`identity provider ${alias}: register the redirect URI of this tenant there`);
      } else
        toDo.push(
          `identity provider ${alias}: ${lacks}; declare a provider of this name, and import again: its links come then`,
        );
    }
  }
  return { providers, linked, toDo };
}

function registrationOf(provider: IdentityProvider): Entry {
  const { clientId = '', clientSecret = '', defaultScope = '' } = provider.config;
  const scopes = defaultScope.split(/[\s+]+/).filter((scope) => scope !== '');
  const issuer = issuerOf(provider);
  return {
    ...(provider.providerId !== 'google' && { issuer }),
    ...(provider.displayName !== '' && { displayName: provider.displayName }),
    clientId,
    clientSecret,
    scopes: [
      ...new Set(['openid', ...(scopes.length > 0 || provider.providerId !== 'google' ? scopes : usual)]),
    ],
  };
}

/** What Keycloak asks Google for. */
const usual = ['profile', 'email'];

/** Why a provider does not come; undefined if it does. */
function lackOf(provider: IdentityProvider, acceptsWider: boolean, tell: Report): string | undefined {
  const { clientId = '', clientSecret = '', clientAuthMethod = '' } = provider.config;
  if (clientId === '' || placeholder.test(clientId)) return 'its client is not in the file';
  if (!bySecret.has(clientAuthMethod)) return `Keycloak authenticates there by ${clientAuthMethod}`;
  // The console exports asterisks, and Keycloak may read it from a vault.
  if (/^\**$/.test(clientSecret) || placeholder.test(clientSecret)) return 'its secret is not in the file';
  const narrower = restrictionsOf(provider);
  if (narrower.length === 0) return undefined;
  const what = narrower.join(', ');
  if (!acceptsWider) return `${what}, which has no counterpart`;
  tell(`${what}; accepted`);
  return undefined;
}

/** What keeps people from signing in with a provider there. */
function restrictionsOf({ config, hideOnLogin, organizationId, postBrokerLoginFlowAlias }: IdentityProvider) {
  const { hideOnLoginPage, hostedDomain = '', filteredByClaim } = config;
  return [
    hideOnLogin || hideOnLoginPage === 'true' ? 'its button is hidden there' : '',
    organizationId === '' ? '' : 'it is that of an organization',
    ['', '*'].includes(hostedDomain) ? '' : 'it is for the people of a domain',
    filteredByClaim === 'true' ? 'it is for people with a claim' : '',
    postBrokerLoginFlowAlias === '' ? '' : 'a flow comes after it',
  ].filter((each) => each !== '');
}

/** As its tokens name it. Keycloak needs none, but where the provider is a Keycloak, its address says it. */
function issuerOf({ providerId, config }: IdentityProvider): string {
  const { issuer = '', authorizationUrl = '' } = config;
  if (providerId === 'google') return 'https://accounts.google.com';
  if (issuer !== '') return placeholder.test(issuer) || issuer.includes(',') ? '' : issuer;
  return authorizationUrl.endsWith(keycloakEndpoint)
    ? authorizationUrl.slice(0, -keycloakEndpoint.length)
    : '';
}
