import type { JsonObject } from '@bufbuild/protobuf';
import { textAt } from '../crossings.ts';
import { untold, type Flows, type Values } from './flow.ts';
import type { Tenant } from '../tenant.ts';
import type { Session } from '../visits.ts';

/** By tenant, the refresh token that was issued last. */
const granted = new Map<string, string>();
/** By its identifier. */
const signedIn = new Map<string, Session>();

/** Lets the tenant issue tokens before a request. */
const issued =
  (given: JsonObject = {}): Values =>
  async (tenant) => {
    granted.set(tenant.id, (await tenant.tokens()).refreshToken);
    return given;
  };

/** What ends with a person and an application of a tenant. */
const endsOf: Values = async (tenant) => ({
  ends: { tenantId: tenant.id, userIds: [(await tenant.session()).userId], clientIds: [tenant.web] },
});

/** Of the person of the session, for the third-party application. */
const consented =
  (given: JsonObject = {}): Values =>
  async (tenant) => ({ clientId: (await tenant.consented()).clientId, ...given });

const newSession: Values = async (tenant) => {
  const session = await tenant.signIn();
  signedIn.set(session.sessionId, session);
  return { sessionId: session.sessionId };
};

/** Whether the session of a request gives a code, and the code tokens. */
async function givesTokens(tenant: Tenant, request: JsonObject): Promise<boolean> {
  const code = await tenant.code(signedIn.get(textAt(request, 'sessionId')));
  return (await tenant.exchange({ grantType: 'authorization_code', ...code })).code === 0;
}

const ofTokens: Flows = {
  // Nobody is locked here, as guesses have no limits.
  'AuthorizeService.GetLock': untold,
  'AuthorizeService.CountEndedSessions': endsOf,
  'AuthorizeService.CountEndedConsents': async (tenant) => {
    const { clientId } = await tenant.consented();
    return {
      ends: { tenantId: tenant.id, userIds: [(await tenant.session()).userId], clientIds: [clientId] },
    };
  },
  'TokenService.CountEnded': endsOf,
  'TokenService.ListPersonGrants': issued(),
  'TokenService.RevokePersonGrants': {
    values: issued(),
    worth: (tenant) => tenant.refreshes(granted.get(tenant.id) ?? ''),
  },
  'TokenService.Exchange': [
    {
      what: 'a code',
      values: async (tenant) => ({ grantType: 'authorization_code', ...(await tenant.code()) }),
    },
    {
      what: 'a refresh token',
      values: async (tenant) => ({
        grantType: 'refresh_token',
        refreshToken: (await tenant.tokens()).refreshToken,
      }),
    },
    {
      what: 'client credentials',
      values: ({ id, audience }) => ({
        grantType: 'client_credentials',
        scope: `${id}.read`,
        resource: audience,
      }),
    },
    {
      what: 'a device code',
      values: async (tenant) => ({
        grantType: 'device_code',
        deviceCode: (await tenant.device()).deviceCode,
        credentials: { clientId: tenant.tv, method: 'CLIENT_AUTHENTICATION_METHOD_NONE' },
      }),
    },
    {
      what: 'an auth_req_id',
      values: async (tenant) => ({
        grantType: 'ciba',
        authReqId: await tenant.ciba(),
        credentials: tenant.credentials(tenant.desk),
      }),
    },
  ],
  'TokenService.Revoke': {
    values: async (tenant) => ({ token: (await tenant.tokens()).refreshToken, ignoreUnknown: true }),
    worth: (tenant, request) => tenant.refreshes(textAt(request, 'token')),
  },
  'TokenService.UserInfo': async (tenant) => ({ accessToken: (await tenant.tokens()).accessToken }),
  'TokenService.VerifyIdTokenHint': async (tenant) => ({ idToken: (await tenant.tokens()).idToken }),
  'TokenService.EndGrantSession': {
    values: async (tenant) => ({ refreshToken: (await tenant.tokens()).refreshToken }),
    worth: (tenant, request) => tenant.refreshes(textAt(request, 'refreshToken')),
  },
  'TokenService.NoteSessionEnd': { values: newSession, worth: givesTokens },
  'AuthorizeService.CheckSessions': async (tenant) => ({
    sessionIds: [(await tenant.session()).sessionId],
  }),
  'AuthorizeService.EndSessionOfGrant': {
    values: newSession,
    // Who has no session gets no code.
    worth: async (tenant, request) => givesTokens(tenant, request).catch(() => false),
  },
  'IntrospectionService.Introspect': async (tenant) => ({ token: (await tenant.tokens()).refreshToken }),
  'admin.SessionsService.EndSessions': async (tenant) => ({ sessionId: (await tenant.signIn()).sessionId }),
  'admin.ConsentsService.List': [
    { what: 'for an application', values: consented({ userId: '' }) },
    { what: 'of a person', values: consented({ clientId: '' }) },
    { what: 'of a person for an application', values: consented() },
  ],
  'admin.ConsentsService.Delete': consented(),
  'admin.GrantsService.List': [
    { what: 'of an application', values: issued({ userId: '' }) },
    { what: 'of a person', values: issued({ clientId: '' }) },
  ],
  'admin.GrantsService.RevokeGrants': [
    { what: 'of an application', values: issued({ userId: '' }) },
    { what: 'of a person', values: issued({ clientId: '' }) },
    { what: 'of a person at an application', values: issued() },
    {
      what: 'a grant',
      async values(tenant) {
        await tenant.tokens();
        return { grantId: await tenant.grantId(), userId: '', clientId: '' };
      },
    },
  ],
};

/** A client that starts a request shows its secret. */
const attempted = (clientId: string, { secret: clientSecret }: Tenant): JsonObject => ({
  credentials: { clientId, clientSecret, attempted: true },
});

const ofDecisions: Flows = {
  'DeviceAuthorizationService.StartDeviceAuthorization': (tenant) => ({
    ...attempted(tenant.web, tenant),
    scope: `openid ${tenant.id}.read`,
  }),
  'DeviceAuthorizationService.GetDeviceAuthorization': async (tenant) => ({
    userCode: (await tenant.device()).userCode,
    sessionId: (await tenant.session()).sessionId,
  }),
  'DeviceAuthorizationService.DecideDeviceAuthorization': async (tenant) => ({
    ...(await tenant.deviceRequest()),
    decision: 'DECISION_APPROVE',
  }),
  'DeviceAuthorizationService.PollDeviceAuthorization': async (tenant) => ({
    secret: (await tenant.device()).deviceCode,
    clientId: tenant.tv,
  }),
  'BackchannelAuthenticationService.StartBackchannelAuthentication': (tenant) => ({
    ...attempted(tenant.desk, tenant),
    scope: 'openid',
    loginHint: tenant.username,
  }),
  async 'BackchannelAuthenticationService.ListBackchannelAuthentications'(tenant) {
    await tenant.ciba();
    return {};
  },
  'BackchannelAuthenticationService.DecideBackchannelAuthentication': async (tenant) => ({
    ...(await tenant.cibaRequest()),
    decision: 'DECISION_DENY',
  }),
  'BackchannelAuthenticationService.PollBackchannelAuthentication': async (tenant) => ({
    secret: await tenant.ciba(),
    clientId: tenant.desk,
  }),
  async 'admin.ApprovalsService.List'(tenant) {
    await tenant.ciba();
    return {};
  },
  'admin.ApprovalsService.Cancel': async (tenant) => ({
    approvalId: (await tenant.cibaRequest()).requestId,
  }),
};

/** What clients get, and what people decide elsewhere. */
export const flowsOfClients: Flows = { ...ofTokens, ...ofDecisions };
