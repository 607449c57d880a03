import { OAuthError } from '@tessera/oauth';
import type { ApprovalsService } from '@tessera/proto-gen/admin-approvals';
import { Code, ConnectError, type Handlers } from '@tessera/rpc';
import type { BackchannelAuthentications } from './backchannel/backchannel-authentication.ts';
import type { Approvals } from './approval/approval.ts';

/** The calls of administrators. */
export function approvalCalls({
  backchannels,
  approvals,
}: {
  readonly backchannels: Pick<BackchannelAuthentications, 'pendingOf'>;
  readonly approvals: Pick<Approvals, 'cancel'>;
}): Handlers<typeof ApprovalsService> {
  return {
    async list({ tenantId, userId }, call) {
      const pending = await backchannels.pendingOf(tenantId, userId, call);
      return {
        approvals: pending.map(({ requestId, clientId, scopes, ipAddress, bindingMessage, expiresAt }) => ({
          approvalId: requestId,
          clientId,
          scopes,
          ipAddress,
          bindingMessage,
          expireTime: { seconds: expiresAt, nanos: 0 },
        })),
      };
    },
    async cancel({ tenantId, approvalId }, call) {
      await approvals.cancel({ tenantId, requestId: approvalId }, call).catch((error: unknown) => {
        const isGone = error instanceof OAuthError && error.code === 'not_found';
        throw isGone ? new ConnectError('No such request waits for a decision.', Code.NotFound) : error;
      });
      return {};
    },
  };
}
