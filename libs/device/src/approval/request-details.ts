import type { DirectoryClient } from '@tessera/directory-client';
import type { CallContext } from '@tessera/rpc';
import type { ActiveGrant } from '../store/grant-store.ts';

/** The details of a pending request that a page shows. */
export interface RequestDetails {
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

/** Resolves with undefined if the application is no longer active. */
export async function requestDetails(
  { request, remainingSeconds }: ActiveGrant,
  { directory, clock }: { readonly directory: DirectoryClient; readonly clock: { now(): number } },
  call: CallContext,
): Promise<RequestDetails | undefined> {
  const client = await directory.application(request.clientId, call.onward());
  if (client === undefined || !directory.isActive(client)) return undefined;
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
