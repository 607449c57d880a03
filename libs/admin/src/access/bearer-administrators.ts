import { isActive, mayUse } from '@tessera/directory-client';
import {
  adminAudience,
  adminRoles,
  adminScopes,
  commandLineClientId,
  consoleClientId,
  isGivenUserId,
  OAuthError,
} from '@tessera/oauth';
import type { Application, DirectoryService, Tenant } from '@tessera/proto-gen/directory';
import { TokenKind, type IntrospectionService, type IntrospectResponse } from '@tessera/proto-gen/token';
import {
  Code,
  ConnectError,
  type AuthenticateBearer,
  type CallOptions,
  type Client,
  type Principal,
} from '@tessera/rpc';
import type { AdminConfig } from '../config.ts';
import { holdsEveryScope } from './gifts.ts';
import { apiOwner } from './owners.ts';

export interface AdministratorsDeps {
  readonly introspection: Pick<Client<typeof IntrospectionService>, 'introspect'>;
  readonly directory: Pick<Client<typeof DirectoryService>, 'getApplication' | 'getUser'>;
  readonly config: Pick<AdminConfig, 'TESSERA_OPERATOR_TENANT' | 'TESSERA_ISSUER'>;
}

/**
 * Authenticates an administrator by an access token for `urn:tessera:admin`. Application, tenant and person must be
 * active now, and what the token grants counts as far as the application has it now, and a person's roles let it.
 * Whichever issuer it is of, it reaches the tenant that it names, or every tenant if that is the operator tenant.
 * Throws `invalid_token` or `temporarily_unavailable`.
 */
export function administratorAuthentication({
  introspection,
  directory,
  config,
}: AdministratorsDeps): AuthenticateBearer {
  return async (accessToken, call) => {
    const token = await introspection.introspect({ token: accessToken }, call);
    if (!token.active || token.kind !== TokenKind.ACCESS_TOKEN)
      throw invalidToken('The access token is not valid. Get a new one.');
    if (token.aud !== adminAudience || token.audiences.length > 0)
      throw invalidToken(
        `The access token is for another API. Get one for ${adminAudience}, with the scopes that you need.`,
      );
    const { application, tenant } = await presentApplication(directory, token, call);
    requireIssuerOf(tenant, token, config);
    const declared = application.scopes
      .filter(({ audience }) => audience === adminAudience)
      .map(({ name }) => name);
    const granted = token.scope.split(' ').filter((name) => adminScopes.has(name) && declared.includes(name));
    const { tenantId } = tenant;
    const reach =
      tenantId === config.TESSERA_OPERATOR_TENANT ? { tenantId, everyTenant: true } : { tenantId };
    const identity = { id: token.sub, expiresAt: Number(token.exp), ...reach };
    if (token.sub === application.clientId && token.authTime === 0n && isGivenUserId(token.sub)) {
      const owners = ownersOf(application, { ...reach, scopes: granted });
      const principal = { kind: 'client', ...identity, scopes: granted, owners } as const;
      return { caller: 'admin', principal, scopes: granted, remedy: () => `${remedyOf(application)}.` };
    }
    const roles = await presentRoles(directory, token, application, call);
    const scopes = granted.filter((name) => roles.some((role) => adminRoles.get(role)?.has(name) === true));
    return {
      caller: 'admin',
      principal: { kind: 'user', ...identity, scopes, owners: ownersOfPerson(application) },
      scopes,
      remedy: (lacking) => remedyOfPerson(lacking, application, tenant),
    };
  };
}

const everybodys = ['*'];

/** People are bound by the application that they use, and by nothing else. */
function ownersOfPerson({ owners }: Application): readonly string[] {
  return owners.length > 0 ? owners : everybodys;
}

/** Who holds everything could bind itself to anybody. */
function ownersOf(
  { owners }: Application,
  held: Pick<Principal, 'everyTenant' | 'scopes'>,
): readonly string[] {
  if (owners.length > 0) return owners;
  return holdsEveryScope(held) ? everybodys : [apiOwner];
}

function remedyOf({ clientId }: Application): string {
  return `The application ${clientId} must have it, and the token be asked for with it`;
}

/** The command line and the console have every scope and ask for all of them, so only a role can be missing. */
function remedyOfPerson(lacking: readonly string[], application: Application, { tenantId }: Tenant): string {
  const roles = [...adminRoles].flatMap(([role, has]) =>
    lacking.some((name) => has.has(name)) ? [role] : [],
  );
  const need = `needs a role that has it: ${roles.join(', ')}.`;
  const isBuiltIn = [commandLineClientId, consoleClientId].some((clientIdOf) =>
    [clientIdOf(), clientIdOf(tenantId)].includes(application.clientId),
  );
  return isBuiltIn ? `A person ${need}` : `${remedyOf(application)}; a person also ${need}`;
}

/** The application of a token and its tenant, if tokens of that time still count. */
async function presentApplication(
  directory: AdministratorsDeps['directory'],
  token: IntrospectResponse,
  call: CallOptions,
): Promise<{ application: Application; tenant: Tenant }> {
  const found = await ifKnown(directory.getApplication({ clientId: token.clientId }, call));
  const { application, tenant } = found ?? {};
  if (
    application === undefined ||
    tenant === undefined ||
    tenant.tenantId !== token.tenantId ||
    !isActive({ application, tenant }, Number(token.iat))
  )
    throw invalidToken(
      'The application of the access token is no longer active, or was changed since. Get a new token.',
    );
  return { application, tenant };
}

/** The roles of the person of a token. */
async function presentRoles(
  directory: AdministratorsDeps['directory'],
  token: IntrospectResponse,
  application: Application,
  call: CallOptions,
): Promise<readonly string[]> {
  const { user } =
    (await ifKnown(directory.getUser({ tenantId: token.tenantId, userId: token.sub }, call))) ?? {};
  if (user === undefined || !isActive(user, Number(token.iat)) || !mayUse(application, user))
    throw invalidToken('The person of the access token is no longer active, or has to sign in again.');
  return user.roles;
}

/** Tokens are of the issuer that their tenant has now: its own, or the shared one. */
function requireIssuerOf(
  { issuer }: Tenant,
  token: IntrospectResponse,
  { TESSERA_ISSUER: shared = token.iss }: AdministratorsDeps['config'],
): void {
  if (token.iss !== (issuer === '' ? shared : issuer))
    throw invalidToken('The access token is of another issuer than its tenant has now. Get a new one.');
}

async function ifKnown<T>(work: Promise<T>): Promise<T | undefined> {
  return work.catch((error: unknown) => {
    if (error instanceof ConnectError && error.code === Code.NotFound) return undefined;
    throw error;
  });
}

function invalidToken(message: string): OAuthError {
  return new OAuthError('invalid_token', message);
}
