const bearer = 'who has the one secret that it takes may do it, and it names no tenant';
const ofAll = 'for processes of ours, which serve all tenants';
const tenantAlone = 'it names a tenant and nothing in it';
const ownDocument =
  'the document names no tenant but that of the request; declared-state-calls.test.ts tries another';

const mailed = 'its link is in a mail; email-changes.test.ts tries it for people of another tenant';
const mailedCode = 'its code is in a mail, and counts for the tenant and the visit that it was asked for in';

/** Methods that take nothing of a tenant that could be another's, each with the reason. */
export const withoutCrossing: Readonly<Record<string, string>> = {
  'AuthorizeService.AnswerFromProvider':
    'needs a provider; provider-step.test.ts brings answers to another tenant',
  'AccountService.LinkProvider': 'needs a provider; link-provider.test.ts asks for one of another tenant',
  'AuthorizeService.EndProviderSessions':
    'needs a provider; provider-logout.test.ts sends tokens to the address of another tenant',
  'AuthorizeService.WatchSessionEnds': ofAll,
  'AuthorizeService.TakeLogoutNotices': ofAll,
  'AuthorizeService.FinishLogoutNotice': ofAll,
  'PersonService.NoteSignIns': ofAll,
  'IntrospectionService.BatchIntrospect': ofAll,
  'IntrospectionService.WatchRevocations': ofAll,
  'BackchannelAuthenticationService.DecideByLink': bearer,
  'BackchannelAuthenticationService.GetDeliveryModes': ofAll,
  'KeysService.Sign': tenantAlone,
  'KeysService.GetPublicKeys': tenantAlone,
  'DirectoryService.VerifyClientAssertion':
    'an assertion names its application; verify-assertion.test.ts tries it as that of another tenant',
  'DirectoryService.GetApplication': 'a client identifier names its tenant',
  'DirectoryService.GetTenant': tenantAlone,
  'DirectoryService.GetTenantLooks': tenantAlone,
  'DirectoryService.GetEmailLink': mailed,
  'DirectoryService.ConfirmEmail': mailed,
  'DirectoryService.VerifyMailCode': mailedCode,
  'DirectoryService.ListProviders': tenantAlone,
  'DirectoryService.ListTenantIssuers': ofAll,
  'DirectoryService.WatchChanges': ofAll,
  'admin.DeclaredStateService.Apply': ownDocument,
  'admin.DeclaredStateService.Diff': ownDocument,
  'admin.DeclaredStateService.Get': tenantAlone,
  'PlanService.DescribePlan': ownDocument,
  'BootstrapService.CreateFirstAdministrator': 'it is for the operator tenant alone',
  'admin.KeysService.List': tenantAlone,
  'admin.SessionsService.CountSignIns': tenantAlone,
  'admin.GrantsService.CountTokens': tenantAlone,
  'admin.KeysService.Rotate': tenantAlone,
  'admin.TenantsService.Get': tenantAlone,
  'admin.TenantsService.List': ofAll,
  'admin.TenantsService.Create': tenantAlone,
  'admin.TenantsService.Update': tenantAlone,
  'admin.TenantsService.Delete': tenantAlone,
};

/**
 * Texts that requests leave out, each with the reason: by name, or of one method. Whatever else a request has is tried.
 */
export const leftOut: Readonly<Record<string, string>> = {
  'Exchange.assertion': 'a grant of its own, which names its application (RFC 7523 §2.1)',
  actor: 'narrows a search down',
  event: 'narrows a search down',
  outcome: 'narrows a search down',
  'List.status': 'narrows a search down',
  'List.kind': 'narrows a search down',
  pageToken: 'a place in an order, of which the caller sees only the own records',
  owner: 'as whom somebody writes: it names nothing of a tenant',
  etag: 'tried with the calls that delete; smoke --isolation tries it with every call',
  language: 'of a mail',
  languages: 'of a mail',
  reason: 'for people, in the audit trail',
  state: 'of the client that asks',
  bindingMessage: 'of the client that asks',
  clientNotificationToken: 'of the client that asks',
  resource: 'tried with client credentials',
  value: 'a new secret',
  providerReturnUri: 'an address of the gateway',
  providerReturnState: 'made by the gateway',
  'SignInWithProvider.email': 'what a provider says of a person',
  'SignInWithProvider.name': 'what a provider says of a person',
  'SignInWithProvider.givenName': 'what a provider says of a person',
  'SignInWithProvider.familyName': 'what a provider says of a person',
  'SignInWithProvider.knownClaims': 'what a provider says of a person',
  'GetPasswordLink.issuer': 'of a passkey, which passkey-links.test.ts tries',
  'RedeemPasswordLink.issuer': 'of a passkey, which passkey-links.test.ts tries',
  'RedeemPasswordLink.passkey': 'of a passkey, which passkey-links.test.ts tries',
  'RedeemPasswordLink.passkeyNonce': 'of a passkey, which passkey-links.test.ts tries',
  'RevokeGrants.grantId': 'an alternative, which has a try of its own',
  ...Object.fromEntries(
    ['scope', 'code', 'codeVerifier', 'redirectUri', 'refreshToken', 'deviceCode', 'authReqId'].map(
      (name) => [`Exchange.${name}`, 'of one grant type, which has a try of its own'],
    ),
  ),
};
