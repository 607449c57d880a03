import { Code, ConnectError } from '@tessera/kit';
import type { CallContext, Handlers } from '@tessera/kit';
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
import type { Approvals, DecisionRequest } from './approval.ts';
import type { BackchannelAuthentications } from './backchannel-authentication.ts';
import type { DeviceAuthorizations } from './device-authorization.ts';
import type { Polling } from './polling.ts';
import type { StartRequest } from './starting-client.ts';
import type { GrantKind, Owner } from './store.ts';

export interface DeviceParts {
  readonly devices: DeviceAuthorizations;
  readonly backchannels: BackchannelAuthentications;
  readonly approvals: Approvals;
  readonly polling: Polling;
}

export function deviceHandlers(parts: DeviceParts): Handlers<typeof DeviceAuthorizationService> {
  const { devices } = parts;
  return {
    startDeviceAuthorization: (request, call) => devices.start(startOf(request), call),
    async getDeviceAuthorization({ userCode, ipAddress, ...signedIn }, call) {
      return { request: await devices.open(userCode, ownerOf(signedIn), ipAddress, call) };
    },
    decideDeviceAuthorization: (request, call) => decide(parts, 'device_code', request, call),
    pollDeviceAuthorization: (request) => poll(parts, 'device_code', request),
  };
}

export function backchannelHandlers(parts: DeviceParts): Handlers<typeof BackchannelAuthenticationService> {
  const { backchannels } = parts;
  return {
    startBackchannelAuthentication(request, call) {
      const { loginHint, bindingMessage, requestedExpiry } = request;
      const started = { ...startOf(request), loginHint, bindingMessage, requestedExpiry };
      return backchannels.start(started, call);
    },
    async listBackchannelAuthentications({ tenantId, userId }, call) {
      if (tenantId === '' || userId === '') throw invalid('tenant_id and user_id are required');
      return { requests: await backchannels.waitingFor(tenantId, userId, call) };
    },
    async decideByLink({ decisionToken, decision, ipAddress }, call) {
      await parts.approvals.decideByLink({ decisionToken, decision: decisionOf(decision), ipAddress }, call);
      return {};
    },
    decideBackchannelAuthentication: (request, call) => decide(parts, 'auth_req_id', request, call),
    pollBackchannelAuthentication: (request) => poll(parts, 'auth_req_id', request),
  };
}

interface StartMessage {
  readonly caller?: Caller | undefined;
  readonly credentials?: ClientCredentials | undefined;
  readonly scope: string;
  readonly resource: string;
}

function startOf({ caller, credentials, scope, resource }: StartMessage): StartRequest {
  const { ipAddress = '', issuer = '' } = caller ?? {};
  const { clientId = '', clientSecret = '', attempted = false } = credentials ?? {};
  return { clientId, clientSecret, attempted, ipAddress, issuer, scope, resource };
}

/** Whoever is signed in; undefined when nobody is. */
function ownerOf({ tenantId, userId, sessionId }: Owner): Owner | undefined {
  const given = [tenantId, userId, sessionId].filter((value) => value !== '').length;
  if (given === 0) return undefined;
  if (given < 3) throw invalid('tenant_id, user_id and session_id belong together');
  return { tenantId, userId, sessionId };
}

async function decide(
  { approvals }: DeviceParts,
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
  const { ipAddress, authTime } = approver;
  await approvals.decide(
    {
      kind,
      requestId: request.requestId,
      decision: decisionOf(request.decision),
      approver: { ...owner, ipAddress, authTime: Number(authTime) },
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

async function poll({ polling }: DeviceParts, kind: GrantKind, request: PollRequest) {
  const { secret, clientId, tenantId } = request;
  const { grant, secretHash } = await polling(kind, { secret, clientId, tenantId });
  return { grant: { ...grant, authTime: BigInt(grant.authTime) }, secretHash };
}

function invalid(message: string): ConnectError {
  return new ConnectError(message, Code.InvalidArgument);
}
