import { readFileSync } from 'node:fs';
import { boundedCache, Secret, type Clock } from '@tessera/kit';
import { adminScopes, assertionParameters, consoleClientId, consolePaths, OAuthError } from '@tessera/oauth';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import { Code, ConnectError, type CallOptions, type Client } from '@tessera/rpc';
import * as openid from 'openid-client';
import type { ConsoleSession, StartedSignIn } from './console-sessions.ts';

export interface SignInDeps {
  readonly directory: Pick<Client<typeof DirectoryService>, 'getApplication'>;
  /** By what the console proves that it redeems the codes of its sign-ins. */
  readonly proof: Secret | { readonly tokenFile: string };
  /** The shared issuer. */
  readonly issuer: string;
  readonly operatorTenant: string | undefined;
  readonly clock: Clock;
}

const scope = ['openid', 'profile', ...adminScopes.keys()].join(' ');
const timeoutSeconds = 10;
const metadataMs = 5 * 60_000;

/**
 * Signs administrators in as any other application does: authorization code with PKCE (RFC 7636), by a secret or by a
 * token of the platform.
 */
export function createSignIn({ directory, proof, issuer: shared, operatorTenant, clock }: SignInDeps) {
  /** The tenant of a console; throws `not_found` for an organization without one. */
  async function tenantOf(named: string | undefined, call: CallOptions) {
    const clientId = consoleClientId(named);
    const { tenant } = await directory.getApplication({ clientId }, call).catch((error: unknown) => {
      if (error instanceof ConnectError && error.code === Code.NotFound) throw unknownOrganization();
      throw error;
    });
    if (tenant === undefined) throw unknownOrganization();
    return { clientId, tenant };
  }

  /** Anybody may start a sign-in: the issuer is asked once in a while. */
  const servers = boundedCache<{ readonly server: Promise<openid.Configuration>; readonly since: number }>(
    100,
  );
  async function serverOf(issuer: string, clientId: string): Promise<openid.Configuration> {
    const key = `${clientId} ${issuer}`;
    const known = servers.get(key);
    if (known !== undefined && known.since + metadataMs > clock.now()) return known.server;
    const server = found(issuer, clientId, proof);
    servers.set(key, { server, since: clock.now() });
    server.catch(() => servers.delete(key));
    return server;
  }

  return {
    /** The name of an organization that the person of the call has been let into; its identifier if none is known. */
    async nameOf(tenantId: string, call: CallOptions): Promise<string> {
      const named = tenantId === operatorTenant ? undefined : tenantId;
      const found = await tenantOf(named, call).catch(() => undefined);
      return found?.tenant.name || tenantId;
    },

    /**
     * Where a browser goes to sign in.
     * @param named the organization; undefined for the operators
     * @param origin of the console
     * @param maxAge how long ago they may have proved who they are, in seconds; undefined without a limit
     */
    async start(
      named: string | undefined,
      {
        origin,
        returnTo,
        maxAge,
        call,
      }: { origin: string; returnTo: string; maxAge: number | undefined; call: CallOptions },
    ): Promise<{ location: string; started: StartedSignIn }> {
      const { clientId, tenant } = await tenantOf(named, call);
      const server = await serverOf(tenant.issuer === '' ? shared : tenant.issuer, clientId);
      const started = {
        server,
        tenantId: tenant.tenantId,
        state: openid.randomState(),
        nonce: openid.randomNonce(),
        verifier: openid.randomPKCECodeVerifier(),
        returnTo,
        maxAge,
      };
      const location = openid.buildAuthorizationUrl(server, {
        redirect_uri: redirectUri(origin),
        scope,
        state: started.state,
        nonce: started.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(started.verifier),
        code_challenge_method: 'S256',
        ...(maxAge !== undefined && { max_age: String(maxAge) }),
      });
      return { location: location.href, started };
    },

    /**
     * The session of who came back with this query. Throws `access_denied` for an answer that is none to what this
     * browser has started, and for a refused sign-in.
     */
    async finish(query: string, started: StartedSignIn, origin: string): Promise<ConsoleSession> {
      const { tenantId } = started;
      const came = new URL(redirectUri(origin));
      came.search = query;
      const tokens = await openid
        .authorizationCodeGrant(started.server, came, {
          expectedState: started.state,
          expectedNonce: started.nonce,
          pkceCodeVerifier: started.verifier,
          idTokenExpected: true,
          ...(started.maxAge !== undefined && { maxAge: started.maxAge }),
        })
        .catch((error: unknown) => {
          const said =
            error instanceof openid.AuthorizationResponseError ? error.error_description : undefined;
          const message = said ?? 'The sign-in could not be completed. Try again.';
          throw new OAuthError('access_denied', message, { cause: error });
        });
      return {
        ...provedBy(tokens),
        tenantId,
        everyTenant: tenantId === operatorTenant,
        expiresAt: clock.now() + (tokens.expiresIn() ?? 0) * 1000,
      };
    },
  };
}

async function found(
  issuer: string,
  clientId: string,
  proof: SignInDeps['proof'],
): Promise<openid.Configuration> {
  const url = new URL(issuer);
  return openid.discovery(url, clientId, undefined, authenticationBy(proof), {
    algorithm: 'oauth2',
    timeout: timeoutSeconds,
    ...(url.protocol === 'http:' && { execute: [openid.allowInsecureRequests] }),
  });
}

/** Whom the tokens of a sign-in prove, and when they did. Throws `access_denied` if they do not say it. */
function provedBy(tokens: openid.TokenEndpointResponse & openid.TokenEndpointResponseHelpers) {
  const claims = tokens.claims();
  const name = claims?.['name'] ?? claims?.['preferred_username'];
  const [sid, authTime] = [claims?.['sid'], claims?.auth_time];
  if (typeof sid !== 'string' || typeof authTime !== 'number')
    throw new OAuthError('access_denied', 'The sign-in could not be completed. Try again.');
  return {
    userId: claims?.sub ?? '',
    name: typeof name === 'string' ? name : '',
    sessionId: sid,
    authTime: authTime * 1000,
    accessToken: new Secret(tokens.access_token),
  };
}

function authenticationBy(proof: SignInDeps['proof']): openid.ClientAuth {
  if (proof instanceof Secret) return openid.ClientSecretBasic(proof.reveal());
  // The platform replaces it from time to time; the library does not wait for it.
  return (_server, client, body) => {
    const parameters = assertionParameters(readFileSync(proof.tokenFile, 'utf8').trim());
    for (const [name, value] of Object.entries({ ...parameters, client_id: client.client_id }))
      body.set(name, value);
  };
}

export type SignIn = ReturnType<typeof createSignIn>;

const redirectUri = (origin: string): string => origin + consolePaths.base + consolePaths.callback;

function unknownOrganization(): OAuthError {
  return new OAuthError('not_found', 'There is no organization of this name here. Check its identifier.');
}
