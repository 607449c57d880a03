import type { DirectoryClient } from '@tessera/directory-client';
import type { CallContext } from '@tessera/rpc';
import type { LivingGrant } from '../store/store.ts';

/** What a page shows of a request. */
export interface PendingRequestView {
  readonly requestId: string;
  readonly tenantId: string;
  readonly clientId: string;
  readonly applicationName: string;
  readonly scopes: string[];
  readonly ipAddress: string;
  readonly bindingMessage: string;
  /** Seconds since the Unix epoch. */
  readonly expiresAt: bigint;
}

/** Describes a request; undefined when its application may no longer ask for anything. */
export async function describeGrant(
  { request, remainingSeconds }: LivingGrant,
  { records, clock }: { readonly records: DirectoryClient; readonly clock: { now(): number } },
  call: CallContext,
): Promise<PendingRequestView | undefined> {
  const client = await records.application(request.clientId, call.onward());
  if (client === undefined || !records.isActive(client)) return undefined;
  const { requestId, tenantId, clientId, scopes, ipAddress, bindingMessage } = request;
  return {
    requestId,
    tenantId,
    clientId,
    applicationName: client.application.name,
    scopes: [...scopes],
    ipAddress,
    bindingMessage,
    expiresAt: BigInt(Math.floor(clock.now() / 1000 + remainingSeconds)),
  };
}
