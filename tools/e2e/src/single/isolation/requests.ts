import type { JsonObject } from '@bufbuild/protobuf';
import { randomUUID } from 'node:crypto';
import { textAt } from './crossings.ts';
import type { Session, Tenant } from './tenant.ts';

/** A good request of a tenant, made anew for each try. */
export interface GoodRequest {
  readonly method: string;
  readonly what?: string;
  request(tenant: Tenant): Promise<JsonObject>;
  /** Whether the values of the request are still worth what they were; absent: the request itself tells. */
  worth?(tenant: Tenant, request: JsonObject): Promise<boolean>;
  /** A create: its own tenant gets the same answer for values that nobody has yet. */
  readonly isNew?: true;
  /** Places of values that are nobody's alone, each with the reason. */
  readonly known?: Readonly<Record<string, string>>;
}

/** Of a browser, and of no tenant. */
const visit = 'v'.repeat(22);

const oneNamespace = 'client identifiers are unique over all tenants';

const browserCalls: readonly GoodRequest[] = [
  {
    method: 'AuthorizeService.Begin',
    async request(tenant) {
      const { browser, userId } = await tenant.session();
      return { browser, request: { parameters: tenant.authorization('c'.repeat(43)), hintedUserId: userId } };
    },
  },
  {
    method: 'AuthorizeService.GetInteraction',
    async request(tenant) {
      const { browser, interactionId } = await tenant.visit();
      return { browser, interactionId };
    },
  },
  {
    method: 'AuthorizeService.Continue',
    async request(tenant) {
      const { browser, interactionId } = await tenant.visit();
      return { browser, interactionId, step: 'password', fields: tenant.fields };
    },
  },
  {
    method: 'AuthorizeService.BeginAuthorization',
    async request(tenant) {
      const { browser, userId } = await tenant.session();
      return { browser, parameters: tenant.authorization('c'.repeat(43)), hintedUserId: userId };
    },
  },
  {
    method: 'AuthorizeService.SignIn',
    async request(tenant) {
      const { browser, interactionId } = await tenant.visit();
      return { browser, interactionId, ...tenant.fields };
    },
  },
  {
    method: 'AuthorizeService.SignInDirect',
    request: async (tenant) => ({ browser: tenant.browser(), tenantId: tenant.id, ...tenant.fields }),
  },
  {
    method: 'AuthorizeService.GetSession',
    request: async (tenant) => ({ browser: (await tenant.session()).browser }),
  },
  {
    method: 'AuthorizeService.ChangePassword',
    request: async (tenant) => ({
      browser: (await tenant.session()).browser,
      presentPassword: 'not-the-password',
      newPassword: 'slide-rule-1850-new',
    }),
  },
  {
    method: 'AuthorizeService.EndSession',
    request: async (tenant) => ({
      browser: (await tenant.signIn()).browser,
      clientId: tenant.web,
      hintedClientId: tenant.web,
      postLogoutRedirectUri: 'http://127.0.0.1:9000/callback',
    }),
  },
  {
    method: 'AuthorizeService.RedeemCode',
    async request(tenant) {
      const code = await tenant.code();
      return {
        ...code,
        clientId: tenant.web,
        tenantId: tenant.id,
        confidential: true,
        ipAddress: '10.0.0.1',
      };
    },
  },
];

const accountCalls: readonly GoodRequest[] = [
  {
    method: 'AccountService.GetAccount',
    request: async (tenant) => ({ browser: (await tenant.session()).browser }),
  },
  {
    method: 'AccountService.ChangeName',
    request: async (tenant) => ({ browser: (await tenant.sureOfPasskey()).browser, name: 'Ada King' }),
  },
  {
    method: 'AccountService.ChangeEmail',
    async request(tenant) {
      const { browser } = await tenant.sureOfPasskey();
      return { browser, email: `${tenant.newName()}@example.com`, language: 'en' };
    },
  },
  {
    method: 'AccountService.CloseAccount',
    request: async (tenant) => ({ browser: (await tenant.sureOfPasskey()).browser }),
  },
  {
    method: 'AccountService.RenamePasskey',
    async request(tenant) {
      const { browser } = await tenant.session();
      return { browser, passkeyId: (await tenant.ownPasskey()).credentialId, name: 'Phone' };
    },
  },
  {
    method: 'AccountService.RemoveFactor',
    request: async (tenant) => ({ ...(await tenant.sureOfPasskey()) }),
  },
  {
    method: 'AccountService.UnlinkProvider',
    request: async (tenant) => ({ ...(await tenant.sureOfProvider()) }),
  },
  {
    method: 'AccountService.EndOwnSessions',
    async request(tenant) {
      const { browser } = await tenant.session();
      return { browser, sessionId: (await tenant.signIn()).sessionId };
    },
  },
  {
    method: 'AccountService.RevokeConsent',
    request: async (tenant) => ({ ...(await tenant.consented()) }),
  },
  {
    method: 'TokenService.ListPersonGrants',
    async request(tenant) {
      await tenant.tokens();
      return { tenantId: tenant.id, userId: (await tenant.session()).userId };
    },
  },
  {
    method: 'TokenService.RevokePersonGrants',
    async request(tenant) {
      granted.set(tenant.id, (await tenant.tokens()).refreshToken);
      const { userId } = await tenant.session();
      return { tenantId: tenant.id, userId, clientId: tenant.web, ipAddress: '10.0.0.1' };
    },
    worth: async (tenant) => tenant.refreshes(granted.get(tenant.id) ?? ''),
  },
  {
    method: 'PersonService.GetCredentials',
    async request(tenant) {
      const { userId } = await tenant.ownPasskey();
      return { tenantId: tenant.id, userId };
    },
  },
  {
    method: 'PersonService.ChangeOwnName',
    async request(tenant) {
      const person = await tenant.record('User', { username: tenant.newName() });
      return { tenantId: tenant.id, userId: textAt(person, 'userId'), name: 'Ada', ipAddress: '10.0.0.1' };
    },
  },
  {
    method: 'PersonService.CloseOwnAccount',
    async request(tenant) {
      const person = await tenant.record('User', { username: tenant.newName() });
      return { tenantId: tenant.id, userId: textAt(person, 'userId'), ipAddress: '10.0.0.1' };
    },
  },
  {
    method: 'PersonService.AnnounceSignIn',
    async request(tenant) {
      const { userId } = await tenant.session();
      return { tenantId: tenant.id, userId, ipAddress: '10.0.0.1', userAgent: 'x', first: false };
    },
    // Nobody learns whether there is such a person.
    isNew: true,
  },
  {
    method: 'PersonService.AnnounceWrongCodes',
    async request(tenant) {
      const { userId } = await tenant.session();
      return { tenantId: tenant.id, userId };
    },
    // Nobody learns whether there is such a person.
    isNew: true,
  },
  {
    method: 'PersonService.ListOwnEvents',
    async request(tenant) {
      const { userId } = await tenant.ownPasskey();
      return { tenantId: tenant.id, userId, limit: 20 };
    },
  },
  {
    method: 'PersonService.RemoveOwnFactor',
    request: async (tenant) => ({ ...(await tenant.enrolledPasskey()) }),
  },
  {
    method: 'PersonService.LinkOwnProvider',
    async request(tenant) {
      const person = await tenant.record('User', { username: tenant.newName() });
      const { id: tenantId, provider, providerIssuer: issuer } = tenant;
      return { tenantId, userId: textAt(person, 'userId'), provider, issuer, subject: tenant.newName() };
    },
  },
  {
    method: 'PersonService.UnlinkOwnProvider',
    request: async (tenant) => (await tenant.linked()).linked,
  },
  {
    method: 'PersonService.RenameOwnPasskey',
    request: async (tenant) => ({ tenantId: tenant.id, ...(await tenant.ownPasskey()), name: 'Phone' }),
  },
];

/** By tenant, the refresh token that was issued last. */
const granted = new Map<string, string>();

const signedIn = new Map<string, Session>();

const exchangeCode = async (tenant: Tenant, session: Session | undefined) =>
  tenant.exchange({ grantType: 'authorization_code', ...(await tenant.code(session)) });

/** What ends with a person and an application of a tenant. */
async function endsOf(tenant: Tenant): Promise<JsonObject> {
  const { userId } = await tenant.session();
  return { ends: { tenantId: tenant.id, userIds: [userId], clientIds: [tenant.web] } };
}

const tokenCalls: readonly GoodRequest[] = [
  {
    method: 'AuthorizeService.GetLock',
    request: async (tenant) => ({ tenantId: tenant.id, userId: (await tenant.session()).userId }),
    // Nobody is locked here, as guesses have no limits.
    isNew: true,
  },
  { method: 'AuthorizeService.CountEndedSessions', request: endsOf },
  { method: 'TokenService.CountEnded', request: endsOf },
  {
    method: 'TokenService.Exchange',
    what: 'a code',
    request: async (tenant) => exchange(tenant, 'authorization_code', await tenant.code()),
  },
  {
    method: 'TokenService.Exchange',
    what: 'a refresh token',
    async request(tenant) {
      const { refreshToken } = await tenant.tokens();
      return exchange(tenant, 'refresh_token', { refreshToken });
    },
  },
  {
    method: 'TokenService.Exchange',
    what: 'client credentials',
    request: async (tenant) =>
      exchange(tenant, 'client_credentials', { scope: `${tenant.id}.read`, resource: tenant.audience }),
  },
  {
    method: 'TokenService.Exchange',
    what: 'a device code',
    request: async (tenant) => ({
      ...exchange(tenant, 'device_code', { deviceCode: (await tenant.device()).deviceCode }),
      credentials: { clientId: tenant.tv, method: 'CLIENT_AUTHENTICATION_METHOD_NONE' },
    }),
  },
  {
    method: 'TokenService.Exchange',
    what: 'an auth_req_id',
    request: async (tenant) => ({
      ...exchange(tenant, 'ciba', { authReqId: await tenant.ciba() }),
      credentials: tenant.credentials(tenant.desk),
    }),
  },
  {
    method: 'TokenService.Revoke',
    async request(tenant) {
      const { refreshToken: token } = await tenant.tokens();
      return { caller: tenant.caller(), credentials: tenant.credentials(), token, ignoreUnknown: true };
    },
    worth: (tenant, request) => tenant.refreshes(textAt(request, 'token')),
  },
  {
    method: 'TokenService.UserInfo',
    request: async (tenant) => ({
      caller: tenant.caller(),
      accessToken: (await tenant.tokens()).accessToken,
    }),
  },
  {
    method: 'TokenService.VerifyIdTokenHint',
    request: async (tenant) => ({ caller: tenant.caller(), idToken: (await tenant.tokens()).idToken }),
  },
  {
    method: 'TokenService.NoteSessionEnd',
    async request(tenant) {
      const session = await tenant.signIn();
      signedIn.set(session.sessionId, session);
      return { tenantId: tenant.id, sessionId: session.sessionId };
    },
    worth: async (tenant, request) =>
      (await exchangeCode(tenant, signedIn.get(textAt(request, 'sessionId')))).code === 0,
  },
  {
    method: 'IntrospectionService.Introspect',
    request: async (tenant) => ({
      token: (await tenant.tokens()).refreshToken,
      caller: tenant.caller(),
      credentials: tenant.credentials(),
    }),
  },
];

const deviceCalls: readonly GoodRequest[] = [
  {
    method: 'DeviceAuthorizationService.StartDeviceAuthorization',
    request: async (tenant) => ({
      caller: tenant.caller(),
      credentials: { clientId: tenant.web, clientSecret: tenant.secret, attempted: true },
      scope: `openid ${tenant.id}.read`,
    }),
  },
  {
    method: 'DeviceAuthorizationService.GetDeviceAuthorization',
    async request(tenant) {
      const { tenantId, userId, sessionId } = await tenant.approver();
      const { userCode } = await tenant.device();
      return { userCode, ...strings({ tenantId, userId, sessionId }), ipAddress: '10.0.0.1' };
    },
  },
  {
    method: 'DeviceAuthorizationService.DecideDeviceAuthorization',
    async request(tenant) {
      const { requestId, approver } = await tenant.deviceRequest();
      return { requestId, approver, decision: 'DECISION_APPROVE' };
    },
  },
  {
    method: 'DeviceAuthorizationService.PollDeviceAuthorization',
    request: async (tenant) => ({
      secret: (await tenant.device()).deviceCode,
      clientId: tenant.tv,
      tenantId: tenant.id,
    }),
  },
  {
    method: 'BackchannelAuthenticationService.StartBackchannelAuthentication',
    request: async (tenant) => ({
      caller: tenant.caller(),
      credentials: { clientId: tenant.desk, clientSecret: tenant.secret, attempted: true },
      scope: 'openid',
      loginHint: tenant.username,
    }),
  },
  {
    method: 'BackchannelAuthenticationService.ListBackchannelAuthentications',
    async request(tenant) {
      const { approver } = await tenant.cibaRequest();
      return strings({ tenantId: approver['tenantId'], userId: approver['userId'] });
    },
  },
  {
    method: 'BackchannelAuthenticationService.DecideBackchannelAuthentication',
    async request(tenant) {
      const { requestId, approver } = await tenant.cibaRequest();
      return { requestId, approver, decision: 'DECISION_DENY' };
    },
  },
  {
    method: 'BackchannelAuthenticationService.PollBackchannelAuthentication',
    request: async (tenant) => ({
      secret: await tenant.ciba(),
      clientId: tenant.desk,
      tenantId: tenant.id,
    }),
  },
];

const issuedCalls: readonly GoodRequest[] = [
  {
    method: 'admin.SessionsService.List',
    request: async (tenant) => ({
      tenantId: tenant.id,
      ...strings({ userId: (await tenant.signIn()).userId }),
    }),
  },
  {
    method: 'admin.SessionsService.EndSessions',
    async request(tenant) {
      return { tenantId: tenant.id, sessionId: (await tenant.signIn()).sessionId };
    },
  },
  {
    method: 'admin.GrantsService.List',
    async request(tenant) {
      await tenant.tokens();
      return { tenantId: tenant.id, clientId: tenant.web };
    },
  },
  {
    method: 'admin.GrantsService.RevokeGrants',
    async request(tenant) {
      await tenant.tokens();
      return { tenantId: tenant.id, clientId: tenant.web };
    },
  },
  {
    method: 'admin.ApprovalsService.List',
    async request(tenant) {
      const { approver } = await tenant.cibaRequest();
      return strings({ tenantId: tenant.id, userId: approver['userId'] });
    },
  },
  {
    method: 'admin.ApprovalsService.Cancel',
    async request(tenant) {
      const { requestId } = await tenant.cibaRequest();
      return { tenantId: tenant.id, approvalId: requestId };
    },
  },
];

const directoryCalls: readonly GoodRequest[] = [
  {
    method: 'KeysService.WithdrawKey',
    request: async (tenant) => ({ tenantId: tenant.id, kid: await tenant.kid() }),
  },
  {
    method: 'admin.AuditService.Search',
    async request(tenant) {
      const person = await tenant.record('User', { username: tenant.newName() });
      return { tenantId: tenant.id, about: textAt(person, 'userId') };
    },
  },
  {
    method: 'admin.KeysService.Withdraw',
    request: async (tenant) => ({ tenantId: tenant.id, kid: await tenant.kid() }),
  },
  {
    method: 'DirectoryService.VerifyApplicationSecret',
    request: async (tenant) => ({ clientId: tenant.web, clientSecret: tenant.secret }),
    known: { clientId: 'it says whose the secret must be' },
  },
  {
    method: 'DirectoryService.GetUser',
    request: async (tenant) => ({ tenantId: tenant.id, userId: (await tenant.session()).userId }),
  },
  {
    method: 'DirectoryService.BatchGetUsers',
    request: async (tenant) => ({ tenantId: tenant.id, userIds: [(await tenant.session()).userId] }),
  },
  {
    method: 'DirectoryService.FindUser',
    request: async (tenant) => ({ tenantId: tenant.id, identifier: tenant.username }),
  },
  {
    method: 'DirectoryService.VerifyPassword',
    request: async (tenant) => ({ tenantId: tenant.id, ...tenant.fields, ipAddress: '10.0.0.1' }),
  },
  {
    method: 'DirectoryService.ReplacePassword',
    async request(tenant) {
      const presentPassword = 'slide-rule-1850-old';
      const person = await tenant.record('User', { username: tenant.newName(), password: presentPassword });
      const userId = textAt(person, 'userId');
      const newPassword = 'slide-rule-1850-new';
      return { tenantId: tenant.id, userId, presentPassword, newPassword, ipAddress: '10.0.0.1' };
    },
  },
  {
    method: 'DirectoryService.ProposeTotp',
    request: async (tenant) => tenant.proposal(),
  },
  {
    method: 'DirectoryService.VerifyProposedTotp',
    async request(tenant) {
      const proposal = await tenant.proposal();
      return { ...proposal, code: (await tenant.codeOf(proposal)).code };
    },
  },
  {
    method: 'DirectoryService.ProposeRecoveryCodes',
    request: async (tenant) => tenant.proposal(),
  },
  {
    method: 'DirectoryService.AdoptProposal',
    request: async (tenant) => ({ ...(await tenant.proposal()), timeStep: '1', ipAddress: '10.0.0.1' }),
  },
  {
    method: 'DirectoryService.EnrolTotp',
    async request(tenant) {
      const proposal = await tenant.proposal();
      const { code } = await tenant.codeOf(proposal);
      return { ...proposal, code, ipAddress: '10.0.0.1' };
    },
  },
  {
    method: 'DirectoryService.VerifySecondFactor',
    request: async (tenant) => ({ ...(await tenant.secondFactor()), ipAddress: '10.0.0.1' }),
  },
  {
    method: 'DirectoryService.ReplaceRecoveryCodes',
    async request(tenant) {
      const { tenantId, userId } = await tenant.secondFactor();
      return { tenantId, userId, ipAddress: '10.0.0.1' };
    },
  },
  {
    method: 'DirectoryService.ProposePasskey',
    request: async (tenant) => (await tenant.newPasskey()).proposal,
  },
  {
    method: 'DirectoryService.EnrolPasskey',
    request: async (tenant) => (await tenant.newPasskey()).enrolment,
    known: { 'ceremony.challenge': 'authorize makes it of the visit, and says that the answer is one to it' },
  },
  {
    method: 'DirectoryService.VerifyPasskey',
    request: async (tenant) => tenant.signedByPasskey(),
  },
  {
    method: 'DirectoryService.GetProvider',
    request: async (tenant) => ({ tenantId: tenant.id, name: tenant.provider }),
  },
  {
    method: 'DirectoryService.SignInWithProvider',
    request: async (tenant) => ({
      tenantId: tenant.id,
      provider: tenant.provider,
      issuer: tenant.providerIssuer,
      subject: tenant.newName(),
      ipAddress: '10.0.0.1',
    }),
  },
  {
    method: 'admin.UsersService.ResetSecondFactors',
    async request(tenant) {
      const { tenantId, userId } = await tenant.secondFactor();
      return { tenantId, userId };
    },
  },
  {
    method: 'admin.UsersService.Unlock',
    async request(tenant) {
      const { tenantId, userId } = await tenant.secondFactor();
      return { tenantId, userId };
    },
  },
  {
    method: 'DirectoryService.GetPasswordLink',
    request: async (tenant) => ({ tenantId: tenant.id, link: await tenant.passwordLink() }),
  },
  {
    method: 'DirectoryService.RedeemPasswordLink',
    request: async (tenant) => ({
      tenantId: tenant.id,
      link: await tenant.passwordLink(),
      password: 'slide-rule-1850-new',
      ipAddress: '10.0.0.1',
    }),
  },
  {
    method: 'DirectoryService.RequestRegistration',
    request: async (tenant) => ({
      tenantId: tenant.id,
      issuerTenantId: tenant.id,
      email: `gus@${tenant.id}.example`,
      ipAddress: '10.0.0.1',
    }),
    // Nobody learns who has it.
    isNew: true,
  },
  {
    method: 'DirectoryService.ProposeEmail',
    async request(tenant) {
      const person = await tenant.record('User', { username: tenant.newName() });
      const email = `${tenant.newName()}@example.com`;
      return { tenantId: tenant.id, userId: textAt(person, 'userId'), email, ipAddress: '10.0.0.1' };
    },
  },
  {
    method: 'DirectoryService.SendMailCode',
    async request(tenant) {
      const username = tenant.newName();
      const person = await tenant.record('User', { username, email: `${username}@example.com` });
      return { tenantId: tenant.id, userId: textAt(person, 'userId'), visit, ipAddress: '10.0.0.1' };
    },
  },
  {
    method: 'DirectoryService.RequestMailCode',
    request: async (tenant) => ({
      tenantId: tenant.id,
      issuerTenantId: tenant.id,
      identifier: tenant.username,
      visit,
      ipAddress: '10.0.0.1',
    }),
    // Nobody learns who has it.
    isNew: true,
  },
  {
    method: 'DirectoryService.RequestPasswordReset',
    request: async (tenant) => ({
      tenantId: tenant.id,
      issuerTenantId: tenant.id,
      identifier: tenant.username,
      ipAddress: '10.0.0.1',
    }),
    // Nobody learns who has it.
    isNew: true,
  },
  {
    method: 'admin.UsersService.CreatePasswordLink',
    async request(tenant) {
      const person = await tenant.record('User', { username: tenant.newName() });
      return { tenantId: tenant.id, userId: textAt(person, 'userId'), purpose: 'reset' };
    },
  },
  {
    method: 'DirectoryAdminService.SetUserStatus',
    async request(tenant) {
      const { userId } = await tenant.record('User', { username: tenant.newName() });
      return { tenantId: tenant.id, ...strings({ userId }), status: 'STATUS_DISABLED' };
    },
  },
  {
    method: 'DirectoryAdminService.SetApplicationStatus',
    async request(tenant) {
      const clientId = textAt(await newApplication(tenant), 'clientId');
      return { tenantId: tenant.id, clientId, status: 'STATUS_DISABLED' };
    },
  },
];

/** The calls of one kind of record. @param id the name of what identifies it */
function recordCalls(
  noun: 'User' | 'Application' | 'Resource' | 'Role',
  id: string,
  newRecord: (tenant: Tenant) => JsonObject,
  known: Readonly<Record<string, string>> = {},
): GoodRequest[] {
  const field = noun.toLowerCase();
  const made = async (tenant: Tenant): Promise<JsonObject> => tenant.record(noun, newRecord(tenant));
  const addressed = async (tenant: Tenant): Promise<JsonObject> => ({
    tenantId: tenant.id,
    [id]: textAt(await made(tenant), id),
  });
  const service = `admin.${noun}sService`;
  return [
    { method: `${service}.Get`, request: addressed },
    {
      method: `${service}.List`,
      what: 'a search',
      async request(tenant) {
        const record = await made(tenant);
        return { tenantId: tenant.id, search: textAt(record, noun === 'User' ? 'username' : id) };
      },
    },
    {
      method: `${service}.Create`,
      request: async (tenant) => ({
        tenantId: tenant.id,
        [field]: newRecord(tenant),
        requestId: randomUUID(),
      }),
      known,
      isNew: true,
    },
    ...(noun === 'Role'
      ? []
      : [
          {
            method: `${service}.Update`,
            async request(tenant: Tenant): Promise<JsonObject> {
              const record = await made(tenant);
              const changed = {
                [id]: record[id] ?? null,
                etag: record['etag'] ?? null,
                name: 'Another name',
              };
              return { tenantId: tenant.id, [field]: changed };
            },
          },
        ]),
    {
      method: `${service}.Delete`,
      async request(tenant) {
        const record = await made(tenant);
        return { tenantId: tenant.id, [id]: record[id] ?? null, etag: record['etag'] ?? null };
      },
    },
  ];
}

/** The calls of what was deleted. @param id the name of what identifies it */
function deletedCalls(
  noun: 'User' | 'Application',
  id: string,
  made: (tenant: Tenant) => Promise<JsonObject>,
): GoodRequest[] {
  const deleted = async (tenant: Tenant): Promise<JsonObject> => {
    const record = await made(tenant);
    await tenant.forget(noun, { [id]: record[id] ?? null });
    return record;
  };
  const service = `admin.${noun}sService`;
  return [
    {
      method: `${service}.Undelete`,
      request: async (tenant) => ({ tenantId: tenant.id, [id]: textAt(await deleted(tenant), id) }),
    },
    {
      method: `${service}.ListDeleted`,
      async request(tenant) {
        const record = await deleted(tenant);
        return { tenantId: tenant.id, search: textAt(record, noun === 'User' ? 'username' : id) };
      },
    },
  ];
}

const adminCalls: readonly GoodRequest[] = [
  ...recordCalls('User', 'userId', (tenant) => {
    const name = tenant.newName();
    return { username: name, email: `${name}@example.com`, roles: [`${tenant.id}-clerk`] };
  }),
  ...recordCalls('Application', 'clientId', newApplicationOf, { 'application.clientId': oneNamespace }),
  ...recordCalls('Resource', 'audience', (tenant) => {
    const name = tenant.newName();
    return { audience: `https://${name}.example`, name, scopes: [{ name: `${name}.read` }] };
  }),
  ...recordCalls('Role', 'name', (tenant) => ({ name: tenant.newName() })),
  ...deletedCalls('User', 'userId', (tenant) => tenant.record('User', { username: tenant.newName() })),
  ...deletedCalls('Application', 'clientId', newApplication),
  { method: 'admin.ApplicationsService.ListSecrets', request: applicationOf },
  {
    method: 'admin.ApplicationsService.CreateSecret',
    request: async (tenant) => ({ ...(await applicationOf(tenant)), requestId: randomUUID() }),
  },
  {
    method: 'admin.ApplicationsService.DeleteSecret',
    async request(tenant) {
      const application = await applicationOf(tenant);
      return { ...application, secretId: await tenant.newSecret(textAt(application, 'clientId')) };
    },
  },
];

function newApplicationOf(tenant: Tenant): JsonObject {
  return {
    clientId: tenant.newName(),
    name: 'New',
    type: 'confidential',
    grantTypes: ['client_credentials'],
    scopes: [`${tenant.id}.read`],
    introspectAudiences: [tenant.audience],
    allowedRoles: [`${tenant.id}-clerk`],
  };
}

async function newApplication(tenant: Tenant): Promise<JsonObject> {
  return tenant.record('Application', newApplicationOf(tenant));
}

async function applicationOf(tenant: Tenant): Promise<JsonObject> {
  return { tenantId: tenant.id, clientId: textAt(await newApplication(tenant), 'clientId') };
}

function exchange(tenant: Tenant, grantType: string, parameters: JsonObject): JsonObject {
  return { caller: tenant.caller(), credentials: tenant.credentials(), grantType, ...parameters };
}

function strings(values: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
}

/** A good request of every method that takes something of a tenant. */
export const goodRequests: readonly GoodRequest[] = [
  ...browserCalls,
  ...accountCalls,
  ...tokenCalls,
  ...deviceCalls,
  ...issuedCalls,
  ...directoryCalls,
  ...adminCalls,
];

const bearer = 'who has the one secret that it takes may do it, and it names no tenant';
const ofAll = 'for processes of ours, which serve all tenants';
const tenantAlone = 'it names a tenant and nothing in it';
const document = 'the document names its tenants; the records in it are of the tenants they stand in';
const ownDocument =
  'the document names no tenant but that of the request; declared-state-calls.test.ts tries another';

/** Methods that take nothing of a tenant that could be another's, each with the reason. */
const mailed = 'its link is in a mail; email-changes.test.ts tries it for people of another tenant';
const mailedCode = 'its code is in a mail, and counts for the tenant and the visit that it was asked for in';

export const withoutCrossing: Readonly<Record<string, string>> = {
  'AuthorizeService.AnswerFromProvider':
    'needs a provider; provider-step.test.ts brings answers to another tenant',
  'AccountService.LinkProvider': 'needs a provider; link-provider.test.ts asks for one of another tenant',
  'AuthorizeService.EndProviderSessions':
    'needs a provider; provider-logout.test.ts sends tokens to the address of another tenant',
  'AuthorizeService.WatchSessionEnds': ofAll,
  'AuthorizeService.TakeLogoutNotices': ofAll,
  'AuthorizeService.FinishLogoutNotice': ofAll,
  'IntrospectionService.BatchIntrospect': ofAll,
  'IntrospectionService.WatchRevocations': ofAll,
  'BackchannelAuthenticationService.DecideByLink': bearer,
  'BackchannelAuthenticationService.GetDeliveryModes': ofAll,
  'KeysService.Sign': tenantAlone,
  'KeysService.GetPublicKeys': tenantAlone,
  'KeysService.RotateKeys': tenantAlone,
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
  'DirectoryAdminService.Apply': document,
  'DirectoryAdminService.Diff': document,
  'DirectoryAdminService.GetDeclaredState': tenantAlone,
  'DirectoryAdminService.SetTenantStatus': tenantAlone,
  'DirectoryAdminService.CreateFirstAdministrator': 'it is for the operator tenant alone',
  'DirectoryAdminService.ListApplicationSecrets': 'a client identifier names its tenant',
  'admin.KeysService.List': tenantAlone,
  'admin.KeysService.Rotate': tenantAlone,
  'admin.TenantsService.Get': tenantAlone,
  'admin.TenantsService.List': ofAll,
  'admin.TenantsService.Create': tenantAlone,
  'admin.TenantsService.Update': tenantAlone,
  'admin.TenantsService.Delete': tenantAlone,
};
