import type { KnownKey, KnownKeys } from './read-keys.ts';

/** Why keys mean nothing here, each with its keys. A star at the end of one stands for all that begin like it. */
const meaningless: readonly (readonly [reason: string, keys: string])[] = [
  [
    'identifiers, versions and labels of Keycloak',
    `id keycloakVersion displayNameHtml clients[].id clients[].access clients[].origin clients[].description
    clients[].attributes.client.secret.creation.time clients[].attributes.realm_client clientScopes[].id groups[].id
    groups[].path groups[].subGroupCount groups[].parentId groups[].description users[].self users[].origin
    users[].access users[].createdTimestamp users[].userProfileMetadata users[].credentials[].id
    users[].credentials[].createdDate users[].credentials[].userLabel users[].credentials[].priority
    users[].disableableCredentialTypes roles.realm[].id roles.realm[].containerId roles.realm[].clientRole
    roles.realm[].composite roles.realm[].description roles.client.*[].id roles.client.*[].containerId
    roles.client.*[].clientRole roles.client.*[].composite roles.client.*[].description defaultRole.id
    defaultRole.description defaultRole.composite defaultRole.clientRole defaultRole.containerId
    defaultRole.attributes`,
  ],
  [
    'pages and proxies of Keycloak; the pages here speak the language of the person',
    `browserSecurityHeaders attributes._browser_header* attributes.darkMode accountTheme adminTheme rememberMe
    internationalizationEnabled supportedLocales defaultLocale clients[].baseUrl clients[].adminUrl
    clients[].alwaysDisplayInConsole clients[].surrogateAuthRequired clients[].nodeReRegistrationTimeout
    clients[].registeredNodes clients[].attributes.display.on.consent.screen clients[].attributes.consent.screen.text
    clients[].attributes.login_theme clientScopes[].attributes.display.on.consent.screen
    clientScopes[].attributes.consent.screen.text clientScopes[].attributes.gui.order
    clientScopes[].attributes.include.in.token.scope`,
  ],
  [
    'tokens, sessions and keys of Keycloak end with it',
    `notBefore privateKey publicKey certificate codeSecret clients[].notBefore clients[].registrationAccessToken
    users[].notBefore components.org.keycloak.keys.KeyProvider revokeRefreshToken refreshTokenMaxReuse
    accessTokenLifespanForImplicitFlow`,
  ],
  [
    'registration of clients by themselves, which is not here',
    `components.org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy
    components.org.keycloak.services.clientregistration.ClientRegistrationProvider`,
  ],
  [
    'new second factors have the rules here, and those that come have their own',
    `otpPolicyType otpPolicyAlgorithm otpPolicyInitialCounter otpPolicyDigits otpPolicyLookAheadWindow otpPolicyPeriod
    otpPolicyCodeReusable otpSupportedApplications attributes.realmReusableOtpCode webAuthnPolicy*
    attributes.webAuthnPolicy* users[].totp users[].credentials[].counter users[].credentials[].digits
    users[].credentials[].period users[].credentials[].device users[].credentials[].config`,
  ],
  [
    'the audit trail has all events, for as long as the installation says',
    `eventsEnabled eventsExpiration eventsListeners enabledEventTypes adminEventsEnabled adminEventsDetailsEnabled
    attributes.adminEventsExpiration`,
  ],
  [
    'of flows the one for browsers is read; the others are for what is not here',
    `registrationFlow directGrantFlow resetCredentialsFlow clientAuthenticationFlow dockerAuthenticationFlow
    firstBrokerLoginFlow attributes.firstBrokerLoginFlowId authenticationFlows authenticatorConfig requiredActions
    requiredCredentials passwordCredentialGrantAllowed clients[].authenticationFlowBindingOverrides.direct_grant`,
  ],
  [
    'guessing is slowed down here by limits of the installation, and addresses are always https',
    `maxFailureWaitSeconds minimumQuickLoginWaitSeconds waitIncrementSeconds quickLoginCheckMilliSeconds
    maxDeltaTimeSeconds failureFactor maxTemporaryLockouts maxSecondaryAuthFailures bruteForceStrategy sslRequired
    sslNotRequired`,
  ],
  [
    'what has it comes with a line of its own, or is read where it counts',
    `identityProviders identityProviderMappers components.org.keycloak.storage.UserStorageProvider
    registrationEmailAsUsername accessTokenLifespan ssoSessionIdleTimeout ssoSessionMaxLifespan clientSessionIdleTimeout
    clientSessionMaxLifespan clients[].attributes.client.session.idle.timeout
    clients[].attributes.client.session.max.lifespan offlineSessionIdleTimeout offlineSessionMaxLifespanEnabled
    offlineSessionMaxLifespan clientOfflineSessionIdleTimeout clientOfflineSessionMaxLifespan scopeMappings
    clientScopeMappings defaultDefaultClientScopes defaultOptionalClientScopes clients[].authorizationSettings
    clients[].frontchannelLogout clients[].attributes.frontchannel.logout.session.required clients[].directGrantsOnly
    users[].federatedIdentities[].userId users[].federatedIdentities[].userName users[].credentials[].secretData
    users[].credentials[].credentialData users[].credentials[].value users[].credentials[].temporary
    users[].credentials[].salt users[].credentials[].hashedSaltedValue users[].credentials[].hashIterations
    users[].credentials[].algorithm`,
  ],
  [
    'of SAML, of keys of clients and of CIBA, whose clients or grants have a line',
    `clients[].attributes.saml* clients[].attributes.jwt.credential* clients[].attributes.jwks*
    clients[].attributes.use.jwks* clients[].attributes.x509* clients[].attributes.token.endpoint.auth.signing*
    clients[].attributes.ciba* attributes.ciba* clients[].attributes.request.object.signature.alg
    clients[].attributes.request.object.encryption* clients[].attributes.request.uris
    clients[].attributes.standard.token.exchange.enableRefreshRequestedTokenType attributes.saml*
    attributes.parRequestUriLifespan`,
  ],
  [
    'forms of answers, of which clients take the one here',
    `clients[].attributes.exclude.session.state.from.auth.response
    clients[].attributes.exclude.issuer.from.auth.response clients[].attributes.token.response.type.bearer.lower-case
    clients[].attributes.access.token.header.type.rfc9068
    clients[].attributes.client.introspection.response.allow.jwt.claim.enabled`,
  ],
  ['every origin may call, as answers do not go by cookies', 'clients[].webOrigins'],
  [
    'said at other keys too',
    `attributes.oauth2DeviceCodeLifespan attributes.oauth2DevicePollingInterval attributes.clientSession*
    attributes.clientOfflineSession* attributes.organizationsEnabled attributes.adminPermissionsEnabled
    attributes.verifiableCredentialsEnabled attributes.userProfileEnabled attributes.userProfileProvider
    attributes.actionTokenGenerated*
    attributes.offlineSession* attributes.bruteForceProtected attributes.permanentLockout
    attributes.maxTemporaryLockouts attributes.bruteForceStrategy attributes.maxFailureWaitSeconds
    attributes.minimumQuickLoginWaitSeconds attributes.waitIncrementSeconds attributes.quickLoginCheckMilliSeconds
    attributes.maxDeltaTimeSeconds attributes.failureFactor attributes.displayName attributes.displayNameHtml
    attributes.defaultSignatureAlgorithm attributes.client-policies* attributes.clientPolicies
    attributes.clientProfiles userCacheEnabled realmCacheEnabled social updateProfileOnInitialSocialLogin`,
  ],
];

const off: readonly unknown[] = [false, 'false', 'off', '', 0, '0', -1, '-1', 'none', '{}', '[]'];

/** The lines of keys that nothing reads, with the keys and the values that change nothing: those of a new realm. */
const told: readonly (readonly [line: string, keys: string, harmless?: readonly unknown[]])[] = [
  ['who may register here says the tenant: declare `registration`', 'registrationAllowed'],
  ['people who are made here sign in before they have verified their address', 'verifyEmail'],
  ['people may set a new password by mail, where mail is sent', 'resetPasswordAllowed', [true]],
  ['people sign in with their address, too', 'loginWithEmailAllowed', [true]],
  ['an address belongs to one person', 'duplicateEmailsAllowed'],
  ['people keep their user names', 'editUsernameAllowed'],
  ['new passwords have the rules of the installation', 'passwordPolicy'],
  ['guessing is slowed down by the limits of the installation', 'bruteForceProtected permanentLockout'],
  ['resources say how their tokens are signed', 'defaultSignatureAlgorithm', ['RS256', '']],
  [
    'sign-ins last as long as the installation says',
    'ssoSessionIdleTimeoutRememberMe ssoSessionMaxLifespanRememberMe',
  ],
  [
    'codes and links last as long as the installation says',
    `accessCodeLifespan accessCodeLifespanUserAction accessCodeLifespanLogin actionTokenGeneratedByAdminLifespan
    actionTokenGeneratedByUserLifespan oauth2DeviceCodeLifespan oauth2DevicePollingInterval
    attributes.oauth2.device.code.lifespan attributes.oauth2.device.polling.interval
    clients[].attributes.oauth2.device.code.lifespan clients[].attributes.oauth2.device.polling.interval`,
    [60, 300, 1800, 43_200, 600, 5, ...off],
  ],
  ['mail is set up for the installation', 'smtpServer'],
  [
    'pages have the looks of the tenant: declare `looks`',
    'loginTheme emailTheme clients[].attributes.logoUri clients[].attributes.tosUri clients[].attributes.policyUri',
    ['keycloak', 'keycloak.v2', 'base', ...off],
  ],
  ['pages have their own texts', 'localizationTexts messageBundles'],
  [
    'rules for clients have no counterpart',
    'clientProfiles clientPolicies components.org.keycloak.services.clientpolicy.*',
  ],
  [
    'roles come whether or not a client asks for them',
    'roles.realm[].scopeParamRequired roles.client.*[].scopeParamRequired',
  ],
  [
    'has no counterpart',
    `organizations organizationsEnabled userManagedAccessAllowed adminPermissionsEnabled verifiableCredentialsEnabled
    oid4VciEnabled scimApiEnabled clients[].attributes.introspection.signed.response.alg
    attributes.shortVerificationUri clients[].attributes.logout.confirmation.enabled
    clients[].attributes.sectorIdentifierUri clients[].attributes.backchannel.logout.revoke.offline.tokens
    clients[].attributes.client_credentials.use_refresh_token clients[].attributes.id.token.as.detached.signature
    clients[].attributes.authorization.* clients[].attributes.client.use.lightweight.access.token.enabled
    clients[].attributes.user.info.* clients[].attributes.oauth2.jwt.authorization.grant.*
    clients[].attributes.client.secret.rotated* clients[].attributes.acr.loa.map attributes.acr.loa.map
    clientScopes[].attributes.is.dynamic.scope clientScopes[].attributes.dynamic.scope.regexp groups[].attributes
    roles.realm[].attributes roles.client.*[].attributes users[].socialLinks`,
  ],
  ['the address is that of the tenant: declare `issuer`', 'attributes.frontendUrl'],
  [
    'people who are made here have the roles that they are given',
    'defaultGroups defaultRoles clients[].defaultRoles',
  ],
  ['people are asked again for what they had allowed', 'users[].clientConsents'],
  [
    'people of user federations are not in the file',
    'federatedUsers userFederationProviders userFederationMappers',
  ],
  [
    'is of Keycloak before version 3: export the realm with a later one',
    `applications oauthClients clientTemplates applicationScopeMappings roleMappings socialProviders protocolMappers
    roles.application clients[].clientTemplate clients[].useTemplateConfig clients[].useTemplateScope
    clients[].useTemplateMappers`,
  ],
  [
    'resources say how their tokens are signed, and ID tokens have RS256',
    'clients[].attributes.access.token.signed.response.alg clients[].attributes.id.token.signed.response.alg',
    ['RS256', ''],
  ],
  [
    'attributes of people have the rules of the installation',
    'components.org.keycloak.userprofile.UserProfileProvider',
  ],
];

/** Whether the line of a key says what can be declared in its place. */
export function asksToDeclare(line: string): boolean {
  return / declare `[a-z]+`$/.test(line);
}

/** Keys of a mapper, which clients and client scopes have. What it does is a claim, or has a line. */
const ofMappers = {
  meaningless: `id name protocol protocolMapper consentRequired consentText config.multivalued
    config.introspection.token.claim config.lightweight.claim config.access.tokenResponse.claim
    config.aggregate.attrs config.jsonType.label config.usermodel.clientRoleMapping.clientId config.included.client.audience
    config.included.custom.audience config.user.attribute config.claim.name config.id.token.claim
    config.access.token.claim config.userinfo.token.claim`,
  told: 'config.usermodel.realmRoleMapping.rolePrefix config.usermodel.clientRoleMapping.rolePrefix',
};
const mappers = ['clients[].protocolMappers[].', 'clientScopes[].protocolMappers[].'];

/** Where names that somebody chose are keys. */
const maps: ReadonlySet<string> = new Set([
  'roles.client',
  'roles.realm[].composites.client',
  'roles.client.*[].composites.client',
  'groups[].clientRoles',
  'users[].attributes',
  'users[].clientRoles',
  'users[].applicationRoles',
]);

const known = new Map<string, KnownKey>();
const beginnings: (readonly [string, KnownKey])[] = [];

function add(keys: string, line: string | undefined, harmless = off): void {
  for (const key of keys.split(/\s+/)) {
    const entry = { line, harmless: new Set(harmless) };
    if (key.endsWith('*')) beginnings.push([key.slice(0, -1), entry]);
    else known.set(key, entry);
  }
}

for (const [, keys] of meaningless) add(keys, undefined);
for (const [line, keys, harmless] of told) add(keys, line, harmless);
for (const mapper of mappers) {
  const of = (keys: string) => keys.replaceAll(/\S+/g, (key) => `${mapper}${key}`);
  add(of(ofMappers.meaningless), undefined);
  add(of(ofMappers.told), 'roles have no prefix here');
}

/**
 * What is known of the keys of a realm.
 * @param isPassedOver as of `KnownKeys`
 */
export function knownKeys(isPassedOver: KnownKeys['isPassedOver']): KnownKeys {
  return {
    of: (pattern) => known.get(pattern) ?? beginnings.find(([begin]) => pattern.startsWith(begin))?.[1],
    isMap: (pattern) => maps.has(pattern),
    same: (pattern) => (pattern === 'groups[].subGroups[]' ? 'groups[]' : pattern),
    isPassedOver,
  };
}
