import { Code, ConnectError } from '@tessera/rpc';
import type { CallContext, Handlers } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import { Decision } from '@tessera/proto-gen/device';
import type {
  Approver as ApproverMessage,
  BackchannelAuthenticationService,
  Caller,
  ClientCredentials,
  DeviceAuthorizationService,
  PollRequest,
} from '@tessera/proto-gen/device';
import type { Approvals, DecisionRequest } from './approval/approval.ts';
import type { BackchannelAuthentications } from './backchannel/backchannel-authentication.ts';
import type { DeviceAuthorizations } from './device-authorization/device-authorization.ts';
import type { Polling } from './polling/polling.ts';
import type { StartRequest } from './start/client-admission.ts';
import type { GrantKind, Owner } from './pending-grant.ts';

export interface DeviceDeps {
  readonly devices: DeviceAuthorizations;
  readonly backchannels: BackchannelAuthentications;
  readonly approvals: Approvals;
  readonly polling: Polling;
  /** The supported token delivery modes (CIBA Core §5). */
  readonly deliveryModes: readonly string[];
}

export function deviceHandlers(deps: DeviceDeps): Handlers<typeof DeviceAuthorizationService> {
  const { devices } = deps;
  return {
    startDeviceAuthorization: (request, call) => devices.start(startOf(request), call),
    async getDeviceAuthorization({ userCode, ipAddress, ...signedIn }, call) {
      return { request: await devices.open(userCode, ownerOf(signedIn), ipAddress, call) };
    },
    decideDeviceAuthorization: (request, call) => decide(deps, 'device_code', request, call),
    pollDeviceAuthorization: (request) => poll(deps, 'device_code', request),
  };
}

export function backchannelHandlers(deps: DeviceDeps): Handlers<typeof BackchannelAuthenticationService> {
  const { backchannels } = deps;
  return {
    startBackchannelAuthentication(request, call) {
      const { loginHint, bindingMessage, requestedExpiry, clientNotificationToken } = request;
      const asked = { loginHint, bindingMessage, requestedExpiry, clientNotificationToken };
      return backchannels.start({ ...startOf(request), ...asked }, call);
    },
    async listBackchannelAuthentications({ tenantId, userId }, call) {
      if (tenantId === '' || userId === '') throw invalid('tenant_id and user_id are required');
      return { requests: await backchannels.pendingOf(tenantId, userId, call) };
    },
    async decideByLink({ decisionToken, decision, ipAddress }, call) {
      await deps.approvals.decideByLink({ decisionToken, decision: decisionOf(decision), ipAddress }, call);
      return {};
    },
    decideBackchannelAuthentication: (request, call) => decide(deps, 'auth_req_id', request, call),
    pollBackchannelAuthentication: (request) => poll(deps, 'auth_req_id', request),
    getDeliveryModes: () => ({ modes: [...deps.deliveryModes] }),
  };
}

interface StartMessage {
  readonly caller?: Caller | undefined;
  readonly credentials?: ClientCredentials | undefined;
  readonly scope: string;
  readonly resource: string;
}

function startOf({ caller, credentials, scope, resource }: StartMessage): StartRequest {
  const { ipAddress = '', issuer = '', tenantId = '' } = caller ?? {};
  const { clientId = '', clientSecret = '', attempted = false } = credentials ?? {};
  const { clientAssertion = '', clientAssertionType = '' } = credentials ?? {};
  const sent = { clientId, clientSecret, clientAssertion, clientAssertionType, attempted };
  return { ...sent, ipAddress, at: { issuer, tenantId }, scope, resource };
}

/** The signed-in person; undefined if nobody is signed in. */
function ownerOf({ tenantId, userId, sessionId }: Owner): Owner | undefined {
  const given = [tenantId, userId, sessionId].filter((value) => value !== '').length;
  if (given === 0) return undefined;
  if (given < 3) throw invalid('tenant_id, user_id and session_id belong together');
  return { tenantId, userId, sessionId };
}

async function decide(
  { approvals }: DeviceDeps,
  kind: GrantKind,
  request: {
    readonly requestId: string;
    readonly decision: Decision;
    readonly approver?: ApproverMessage | undefined;
  },
  call: CallContext,
): Promise<Record<string, never>> {
  const { approver } = request;
  const owner = approver && ownerOf(approver);
  if (approver === undefined || owner === undefined) throw invalid('the approver is missing');
  const { ipAddress, authentication } = approver;
  if (authentication === undefined) throw invalid('how the approver signed in is missing');
  await approvals.decide(
    {
      kind,
      requestId: request.requestId,
      decision: decisionOf(request.decision),
      approver: { ...owner, ipAddress, authentication },
    },
    call,
  );
  return {};
}

function decisionOf(decision: Decision): DecisionRequest['decision'] {
  if (decision === Decision.APPROVE) return 'approved';
  if (decision === Decision.DENY) return 'denied';
  throw new OAuthError('invalid_request', 'The decision must be approve or deny.');
}

async function poll({ polling }: DeviceDeps, kind: GrantKind, request: PollRequest) {
  const { secret, clientId, tenantId } = request;
  const { grant, secretHash } = await polling(kind, { secret, clientId, tenantId });
  return { userGrant: grant, secretHash };
}

function invalid(message: string): ConnectError {
  return new ConnectError(message, Code.InvalidArgument);
}
