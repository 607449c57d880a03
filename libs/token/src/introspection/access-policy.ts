import type { DirectoryClient } from '@tessera/directory-client';
import { Code, ConnectError, type CallContext } from '@tessera/rpc';
import { type AuditBatch } from '@tessera/audit';
import { OAuthError } from '@tessera/oauth';
import type { Application } from '@tessera/proto-gen/directory';
import type { Caller, ClientCredentials } from '@tessera/proto-gen/token';
import { authenticateClient } from '../authenticate-client.ts';
import type { CertificateClients } from './certificate-clients.ts';

/** Owner and audience of a token or refresh family. */
export interface TokenOwner {
  readonly tenantId: string;
  readonly clientId: string;
  /** The API resources. */
  readonly audiences: readonly string[];
}

/** Which tokens and revocations a caller may see. To the caller, all others do not exist. */
export interface AccessPolicy {
  allowsAccessToken(token: TokenOwner): boolean;
  allowsRefreshToken(token: TokenOwner): boolean;
  /** For the revocation of a refresh family. */
  allowsRevocation(family: TokenOwner): boolean;
  /** For the end of a tenant, or of a user, an application or a session in it. */
  allowsTenant(tenantId: string): boolean;
}

export interface AccessPolicyDeps {
  readonly directory: DirectoryClient;
  readonly audit: Pick<AuditBatch, 'add'>;
  readonly certificateClients: CertificateClients;
}

const unrestricted = policyOfOne(true);
const nothing = policyOfOne(false);

/**
 * The access policy of a caller: everything for the services of this deployment, and for the gateway whatever the
 * client may see whose credentials it forwards. Throws `invalid_client` if they are wrong.
 */
export function accessPolicyFor(
  deps: AccessPolicyDeps,
  request: { credentials?: ClientCredentials | undefined; caller?: Caller | undefined },
  context: CallContext,
): AccessPolicy | Promise<AccessPolicy> {
  const { credentials, caller } = request;
  if (credentials !== undefined) return policyForClient(deps, { credentials, caller }, context);
  return context.principal === undefined ? unrestricted : currentAccessPolicy(deps, context);
}

/**
 * The access policy as of now, to be evaluated repeatedly during a long call. Throws `invalid_token` if the calling
 * client is no longer active.
 */
export async function currentAccessPolicy(
  { directory, certificateClients }: Pick<AccessPolicyDeps, 'directory' | 'certificateClients'>,
  context: CallContext,
): Promise<AccessPolicy> {
  const { principal } = context;
  if (principal === undefined) return unrestricted;
  if (principal.kind === 'certificate') return policyOfCertificate(certificateClients, principal.id);
  const record = await directory.application(principal.id, context.onward());
  if (record !== undefined && directory.isActive(record)) return policyOfApplication(record.application);
  throw new OAuthError('invalid_token', 'The access token is not valid.');
}

async function policyForClient(
  deps: AccessPolicyDeps,
  presented: { credentials: ClientCredentials; caller: Caller | undefined },
  context: CallContext,
): Promise<AccessPolicy> {
  if (context.caller !== 'gateway') {
    throw new ConnectError('Only the gateway may forward client credentials.', Code.InvalidArgument);
  }
  return policyOfApplication(await authenticateClient(deps, presented, context, 'confidential'));
}

/** A client sees its own tokens, and in its tenant the tokens for API resources that it serves. */
function policyOfApplication({ tenantId, clientId, introspectAudiences }: Application): AccessPolicy {
  const own = (token: TokenOwner) => token.tenantId === tenantId && token.clientId === clientId;
  const served = (token: TokenOwner) =>
    own(token) ||
    (token.tenantId === tenantId &&
      token.audiences.some((audience) => introspectAudiences.includes(audience)));
  return {
    allowsAccessToken: served,
    allowsRefreshToken: own,
    allowsRevocation: served,
    allowsTenant: (id) => id === tenantId,
  };
}

function policyOfCertificate(clients: CertificateClients, name: string): AccessPolicy {
  if (clients.size === 0) return unrestricted;
  const client = clients.get(name);
  if (client === undefined) return nothing;
  const { tenants, audiences } = client;
  const allowsTenant = (id: string) => tenants.length === 0 || tenants.includes(id);
  const allows = (token: TokenOwner) =>
    allowsTenant(token.tenantId) &&
    (audiences.length === 0 || token.audiences.some((audience) => audiences.includes(audience)));
  return {
    allowsAccessToken: allows,
    allowsRefreshToken: (token) => audiences.length === 0 && allows(token),
    allowsRevocation: allows,
    allowsTenant,
  };
}

function policyOfOne(decision: boolean): AccessPolicy {
  const decide = () => decision;
  return {
    allowsAccessToken: decide,
    allowsRefreshToken: decide,
    allowsRevocation: decide,
    allowsTenant: decide,
  };
}
