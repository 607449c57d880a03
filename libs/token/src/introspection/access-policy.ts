import type { DirectoryClient } from '@tessera/directory-client';
import { Code, ConnectError, type CallContext } from '@tessera/rpc';
import { type AuditBatch } from '@tessera/audit';
import { OAuthError } from '@tessera/oauth';
import type { Application } from '@tessera/proto-gen/directory';
import type { Caller, ClientCredentials } from '@tessera/proto-gen/token';
import type { Bindings } from './certificate-clients.ts';
import { authenticateClient, isConfidential } from '../client-authentication.ts';

/** Whose a token is and what it is for. */
export interface TokenFacts {
  readonly tenantId: string;
  readonly clientId: string;
  /** The API resource; empty for none. */
  readonly audience: string;
}

/** What one caller may be told about. What it may not be told about does not exist for it. */
export interface View {
  accessToken(token: TokenFacts): boolean;
  refreshToken(token: TokenFacts): boolean;
  /** That the refresh family behind tokens of these facts was revoked. */
  revocation(family: TokenFacts): boolean;
  /** That a tenant, or a user, an application or a session of it ended. */
  tenant(tenantId: string): boolean;
}

export interface ViewParts {
  readonly directory: DirectoryClient;
  readonly audit: Pick<AuditBatch, 'add'>;
  readonly bindings: Bindings;
}

const yes = () => true;
const no = () => false;
const everything: View = { accessToken: yes, refreshToken: yes, revocation: yes, tenant: yes };
const nothing: View = { accessToken: no, refreshToken: no, revocation: no, tenant: no };

/** A client sees its own tokens and those made for the API resources it answers for, of its own tenant. */
function viewOfApplication({ tenantId, clientId, introspectAudiences }: Application): View {
  const own = (token: TokenFacts) => token.tenantId === tenantId && token.clientId === clientId;
  const related = (token: TokenFacts) =>
    own(token) || (token.tenantId === tenantId && introspectAudiences.includes(token.audience));
  return {
    accessToken: related,
    refreshToken: own,
    revocation: related,
    tenant: (id) => id === tenantId,
  };
}

function viewOfCertificate(bindings: Bindings, name: string): View {
  if (bindings.size === 0) return everything;
  const binding = bindings.get(name);
  if (binding === undefined) return nothing;
  const { tenants, audiences } = binding;
  const tenant = (id: string) => tenants.length === 0 || tenants.includes(id);
  const bound = (token: TokenFacts) =>
    tenant(token.tenantId) && (audiences.length === 0 || audiences.includes(token.audience));
  return {
    accessToken: bound,
    refreshToken: audiences.length === 0 ? bound : no,
    revocation: bound,
    tenant,
  };
}

/**
 * Who asks decides what it is told about. Our own processes see everything, the gateway for a client what that client
 * sees, once it has proved who it is. Throws `invalid_client` for wrong credentials.
 */
export function viewOf(
  parts: ViewParts,
  request: { credentials?: ClientCredentials | undefined; caller?: Caller | undefined },
  context: CallContext,
): View | Promise<View> {
  const { credentials, caller } = request;
  if (credentials !== undefined) return viewOfClient(parts, { credentials, caller }, context);
  return context.principal === undefined ? everything : viewOfPrincipal(parts, context);
}

async function viewOfClient(
  parts: ViewParts,
  presented: { credentials: ClientCredentials; caller: Caller | undefined },
  context: CallContext,
): Promise<View> {
  if (context.caller !== 'gateway') {
    throw new ConnectError('Only the gateway passes credentials on.', Code.InvalidArgument);
  }
  return viewOfApplication(await authenticateClient(parts, presented, context, isConfidential));
}

/** The view as it is now; to be asked again where a call lasts. Throws `invalid_token` when the client is gone. */
export async function viewOfPrincipal(
  { directory, bindings }: Pick<ViewParts, 'directory' | 'bindings'>,
  context: CallContext,
): Promise<View> {
  const { principal } = context;
  if (principal === undefined) return everything;
  if (principal.kind === 'certificate') return viewOfCertificate(bindings, principal.id);
  const record = await directory.application(principal.id, context.onward());
  if (record !== undefined && directory.isActive(record)) return viewOfApplication(record.application);
  throw new OAuthError('invalid_token', 'The access token is not valid.');
}
