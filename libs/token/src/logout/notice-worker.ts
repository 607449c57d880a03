import { attempt, leaseSeconds, startWorker } from '@tessera/delivery';
import type { Attempted, Worker } from '@tessera/delivery';
import type { Message, Send } from '@tessera/outbound';
import type { DirectoryClient } from '@tessera/directory-client';
import { logoutTokenClaims } from '@tessera/oauth';
import type { Runtime } from '@tessera/process';
import { LogoutNoticeResult } from '@tessera/proto-gen/authorize';
import type { AuthorizeService, LogoutNotice } from '@tessera/proto-gen/authorize';
import type { Tenant } from '@tessera/proto-gen/directory';
import { TokenType } from '@tessera/proto-gen/keys';
import { rootCall } from '@tessera/rpc';
import type { Client } from '@tessera/rpc';
import type { Signer } from '../pipeline/batched-signer.ts';
import { idTokenAlgorithmOf } from '../pipeline/issue-tokens.ts';

/** A receiver may be unavailable for over an hour, as during its own upgrade. */
const rules = { delays: [1, 4, 15, 60, 300], mostAttempts: 20 };
const callMs = 3_000;

export interface LogoutNoticeDeps {
  readonly authorize: Pick<Client<typeof AuthorizeService>, 'takeLogoutNotices' | 'finishLogoutNotice'>;
  readonly directory: Pick<DirectoryClient, 'application' | 'isActive'>;
  readonly signer: Signer;
  /** The shared issuer, if it is configured. */
  readonly issuer: string | undefined;
  readonly send: Send;
  readonly runtime: Pick<Runtime, 'clock' | 'log' | 'requireClock'>;
}

/**
 * Sends logout tokens to the applications of ended sessions (OIDC Back-Channel Logout §2.5). `authorize` keeps the
 * notices and never calls this service, so they are fetched; any number of processes may do so concurrently.
 */
export function startLogoutNotices(deps: LogoutNoticeDeps): Worker {
  const { authorize, runtime } = deps;
  return startWorker<LogoutNotice>({
    async claim(limit, skippedClientIds) {
      const request = { limit, leaseSeconds, skippedClientIds: [...skippedClientIds] };
      return (await authorize.takeLogoutNotices(request, rootCall('logout-notices', callMs))).notices;
    },
    deliver: (notice, closing) => deliver(deps, notice, closing),
    log: runtime.log,
  });
}

async function deliver(deps: LogoutNoticeDeps, notice: LogoutNotice, closing: AbortSignal): Promise<void> {
  const { authorize, send, runtime } = deps;
  const done = await attempt(
    { mode: 'logout', number: notice.attempt, remainingSeconds: notice.remainingSeconds },
    { messageOf: () => messageOf(deps, notice, closing), send, rules, log: runtime.log, closing },
  );
  await authorize.finishLogoutNotice({ notice, ...resultOf(done) }, rootCall(requestIdOf(notice), callMs));
}

function resultOf(done: Attempted) {
  switch (done.next) {
    case 'delivered':
      return { result: LogoutNoticeResult.DELIVERED };
    case 'failed':
      return { result: LogoutNoticeResult.FAILED, reason: done.reason };
    case 'retry':
      return { result: LogoutNoticeResult.RETRY, delaySeconds: done.delaySeconds };
    case 'giveBack':
      return { result: LogoutNoticeResult.GIVE_BACK, delaySeconds: done.delaySeconds };
  }
}

/** The request to the address that is registered now or, as a string, the reason why nothing is sent. */
async function messageOf(
  { directory, signer, issuer, runtime }: LogoutNoticeDeps,
  notice: LogoutNotice,
  closing: AbortSignal,
): Promise<Message | string> {
  runtime.requireClock();
  const call = () => rootCall(requestIdOf(notice), callMs, closing);
  const client = await directory.application(notice.clientId, call());
  if (client?.tenant.tenantId !== notice.tenantId || !directory.isActive(client)) {
    return 'application_inactive';
  }
  const url = client.application.backchannelLogoutUri;
  if (url === '') return 'no_endpoint';
  const signingTenant = signingTenantOf(client.tenant, notice, issuer);
  if (signingTenant === undefined) return 'issuer_changed';
  const claims = logoutTokenClaims({
    issuer: notice.issuer,
    subject: notice.userId,
    clientId: notice.clientId,
    sessionId: notice.sessionId,
    tokenId: notice.noticeId,
    issuedAt: Math.floor(runtime.clock.now() / 1000),
  });
  const [logoutToken = ''] = await signer.sign(
    [{ type: TokenType.LOGOUT_TOKEN, claims, algorithm: idTokenAlgorithmOf(client.application) }],
    call(),
    signingTenant,
  );
  return {
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'tessera' },
    body: new URLSearchParams({ logout_token: logoutToken }).toString(),
  };
}

/**
 * Whose keys sign a notice: those of the tenant for its own issuer, the shared ones ('') for the shared issuer.
 * Undefined for an issuer that is neither now: no key set that is published there would verify the signature. Without a
 * configured issuer the shared one is any origin.
 */
function signingTenantOf(
  tenant: Pick<Tenant, 'tenantId' | 'issuer'>,
  notice: LogoutNotice,
  configured: string | undefined,
): string | undefined {
  if (tenant.issuer === notice.issuer) return tenant.tenantId;
  const isShared =
    configured === undefined
      ? tenant.issuer === '' && new URL(notice.issuer).origin === notice.issuer
      : notice.issuer === configured;
  return isShared ? '' : undefined;
}

function requestIdOf({ requestId }: LogoutNotice): string {
  return requestId === '' ? 'logout-notices' : requestId;
}
