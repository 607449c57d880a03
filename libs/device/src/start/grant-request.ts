import { notUnderstood } from '@tessera/rpc';
import type { Random } from '@tessera/kit';
import { grantScopes, issuesLikeKeycloak, parseScope } from '@tessera/oauth';
import { digest } from '../digest.ts';
import type { PollSecrets } from '../polling/poll-secret.ts';
import type { AdmittedClient, StartRequest } from './client-admission.ts';
import type { NewGrant } from '../store/grant-store.ts';
import type { GrantKind } from '../pending-grant.ts';

/** RFC 8628 §3.5: what a `slow_down` adds, for this and all subsequent polls. */
const increaseSeconds = 5;

export interface GrantOptions {
  readonly kind: GrantKind;
  readonly lifetimeSeconds: number;
  readonly intervalSeconds: number;
  readonly bindingMessage: string;
}

/** A request to store, and the only copy of the value its client polls with. */
export interface PreparedGrant {
  readonly secret: string;
  readonly grant: NewGrant;
}

/**
 * Prepares the request of a client. Throws `invalid_scope` and `invalid_target` for anything that the application was
 * not granted (CVE-2024-52287).
 */
export function prepareGrant(
  request: StartRequest,
  { application, tenant, authenticated }: AdmittedClient,
  { kind, lifetimeSeconds, intervalSeconds, bindingMessage }: GrantOptions,
  { random, secrets }: { readonly random: Random; readonly secrets: PollSecrets },
): PreparedGrant {
  if (request.at.issuer === '') throw notUnderstood('a request without an issuer');
  const { scopes, resource } = grantScopes({
    requested: parseScope(request.scope),
    resource: request.resource,
    available: application.scopes,
    always: application.defaultScopes,
    person: true,
    declaredByDefault: kind === 'device_code',
    likeKeycloak: issuesLikeKeycloak(tenant),
  });
  const secret = secrets.create(kind, application);
  return {
    secret,
    grant: {
      request: {
        kind,
        hash: digest(secret),
        requestId: random.bytes(16).toString('base64url'),
        tenantId: application.tenantId,
        clientId: application.clientId,
        scopes,
        resource,
        issuer: request.at.issuer,
        ipAddress: request.ipAddress,
        // Anyone can send the identifier of a client: their text must not reach its users.
        bindingMessage: authenticated ? bindingMessage : '',
        authenticated,
      },
      lifetimeSeconds,
      pace: { intervalSeconds, increaseSeconds },
    },
  };
}

/** The interval for the client, in whole seconds, never shorter than the enforced one. */
export function wholeSeconds(seconds: number): number {
  return Math.max(1, Math.ceil(seconds));
}
