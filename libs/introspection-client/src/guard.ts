import type { ActiveToken, Introspector } from './introspector-types.ts';
import { IntrospectionError } from './introspection-error.ts';
import type { ResourceMetadata } from './resource-metadata.ts';

/** Requirements for a request. */
export interface Requirement {
  /** Audience of this service; a token for another one is refused. A list if the service has several. */
  readonly audience: string | readonly string[];
  /** Required scopes, all of them; none by default. */
  readonly scopes?: readonly string[];
  /** For the challenge; absent by default. */
  readonly realm?: string;
  /** Of this service, for the challenge (RFC 9728 §5.1); absent by default. */
  readonly metadata?: Pick<ResourceMetadata, 'url'>;
}

/** An HTTP error response (RFC 6750 §3). */
export interface GuardRefusal {
  /** 503 if the server was unavailable and the token is neither valid nor invalid. */
  readonly status: 400 | 401 | 403 | 503;
  readonly headers: Readonly<Record<string, string>>;
  readonly error: string;
  readonly message: string;
  /** The cause if the server was unavailable; for the log. */
  readonly cause?: unknown;
}

export type GuardVerdict =
  { readonly ok: true; readonly token: ActiveToken } | { readonly ok: false; readonly refusal: GuardRefusal };

/** Checks the value of an `Authorization` header. */
export type Guard = (authorization: string | undefined) => Promise<GuardVerdict>;

const defaultRetrySeconds = 1;

/**
 * Accepts a request with an active access token in the `Authorization` header (RFC 6750 §2.1), for an allowed audience
 * and with all required scopes. Adapters only translate the result.
 */
export function createGuard(introspector: Introspector, requirement: Requirement): Guard {
  const audiences = [requirement.audience].flat();
  const scopes = requirement.scopes ?? [];
  const attributes = { realm: requirement.realm, resource_metadata: requirement.metadata?.url };
  return async (authorization) => {
    const scheme = /^([^ ]+) */.exec(authorization ?? '')?.[1];
    // A request without credentials gets a challenge without an error code (RFC 6750 §3.1).
    if (scheme?.toLowerCase() !== 'bearer') {
      return refuse(401, attributes, 'invalid_token', 'An access token is required.', true);
    }
    const token = /^[^ ]+ +([A-Za-z0-9._~+/-]+=*) *$/.exec(authorization ?? '')?.[1];
    if (token === undefined) {
      return refuse(400, attributes, 'invalid_request', 'The authorization header is malformed.');
    }
    const answer = await ask(introspector, token);
    if (!('active' in answer)) return answer;
    const isForUs = (audience: string) => audiences.includes(audience);
    if (!answer.active || answer.kind !== 'access_token' || !answer.audiences.some(isForUs)) {
      return refuse(401, attributes, 'invalid_token', 'The access token is not valid here.');
    }
    if (scopes.every((scope) => answer.scopes.includes(scope))) return { ok: true, token: answer };
    const scope = scopes.join(' ');
    return refuse(403, { ...attributes, scope }, 'insufficient_scope', 'The access token lacks a scope.');
  };
}

async function ask(introspector: Introspector, token: string) {
  try {
    return await introspector.introspect(token);
  } catch (cause) {
    const advised = cause instanceof IntrospectionError ? cause.retryAfterSeconds : 0;
    const message = 'The access token cannot be verified at the moment. Try again later.';
    const headers = { 'retry-after': String(Math.max(advised, defaultRetrySeconds)) };
    return {
      ok: false,
      refusal: { status: 503, headers, error: 'temporarily_unavailable', message, cause },
    } as const;
  }
}

function refuse(
  status: 400 | 401 | 403,
  attributes: Readonly<Record<string, string | undefined>>,
  error: string,
  message: string,
  bare = false,
): GuardVerdict {
  const parts = {
    ...attributes,
    ...(!bare && { error, error_description: message }),
  };
  const text = Object.entries(parts)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ');
  const challenge = text === '' ? 'Bearer' : `Bearer ${text}`;
  return { ok: false, refusal: { status, headers: { 'www-authenticate': challenge }, error, message } };
}
