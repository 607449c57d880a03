import type { ActiveToken, Introspector } from './types.ts';
import { IntrospectionError } from './errors.ts';

/** What a request must bring to be let through. */
export interface Requirement {
  /** The API resource that we are; a token for another one is refused. Several where one service is several. */
  readonly audience: string | readonly string[];
  /** Scopes that are all needed; none by default. */
  readonly scopes?: readonly string[];
  /** For the challenge; absent by default. */
  readonly realm?: string;
}

/** An answer in the words of HTTP (RFC 6750 §3). */
export interface GuardRefusal {
  /** 503: the server could not be asked; nothing is known of the token. */
  readonly status: 400 | 401 | 403 | 503;
  readonly headers: Readonly<Record<string, string>>;
  readonly error: string;
  readonly message: string;
  /** What happened, where the server could not be asked; for the log. */
  readonly cause?: unknown;
}

export type GuardVerdict =
  { readonly ok: true; readonly token: ActiveToken } | { readonly ok: false; readonly refusal: GuardRefusal };

/** Judges the value of an `Authorization` header. */
export type Guard = (authorization: string | undefined) => Promise<GuardVerdict>;

const defaultRetrySeconds = 1;

/**
 * Decides whether a request may pass: a live access token in the `Authorization` header (RFC 6750 §2.1), for one of our
 * audiences, with all the scopes. Adapters only translate this.
 */
export function createGuard(introspector: Introspector, requirement: Requirement): Guard {
  const audiences = [requirement.audience].flat();
  const scopes = requirement.scopes ?? [];
  const { realm } = requirement;
  return async (authorization) => {
    const scheme = /^([^ ]+) */.exec(authorization ?? '')?.[1];
    // A request without credentials is told what is wanted and nothing of an error (RFC 6750 §3.1).
    if (scheme?.toLowerCase() !== 'bearer') {
      return refuse(401, { realm }, 'invalid_token', 'An access token is required.', true);
    }
    const token = /^[^ ]+ +([A-Za-z0-9._~+/-]+=*) *$/.exec(authorization ?? '')?.[1];
    if (token === undefined) {
      return refuse(400, { realm }, 'invalid_request', 'The authorization header is malformed.');
    }
    const answer = await ask(introspector, token);
    if (!('active' in answer)) return answer;
    if (!answer.active || answer.kind !== 'access_token' || !audiences.includes(answer.aud)) {
      return refuse(401, { realm }, 'invalid_token', 'The access token is not valid here.');
    }
    if (scopes.every((scope) => answer.scopes.includes(scope))) return { ok: true, token: answer };
    const scope = scopes.join(' ');
    return refuse(403, { realm, scope }, 'insufficient_scope', 'The access token lacks a scope.');
  };
}

async function ask(introspector: Introspector, token: string) {
  try {
    return await introspector.introspect(token);
  } catch (cause) {
    const advised = cause instanceof IntrospectionError ? cause.retryAfterSeconds : 0;
    const message = 'Whether the access token is valid cannot be told now.';
    const headers = { 'retry-after': String(Math.max(advised, defaultRetrySeconds)) };
    return {
      ok: false,
      refusal: { status: 503, headers, error: 'temporarily_unavailable', message, cause },
    } as const;
  }
}

function refuse(
  status: 400 | 401 | 403,
  attributes: { readonly realm: string | undefined; readonly scope?: string },
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
