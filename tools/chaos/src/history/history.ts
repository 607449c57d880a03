import { createHash } from 'node:crypto';

/** Kind of operation. Each is one request, except `approve`: the requests of a decision on a page. */
export type Kind =
  | 'authorize'
  | 'page'
  | 'sign-in'
  | 'redeem'
  | 'refresh'
  | 'client-credentials'
  | 'introspect-access'
  | 'introspect-refresh'
  | 'userinfo'
  | 'revoke'
  | 'logout'
  | 'disable'
  | 'device-start'
  | 'ciba-start'
  | 'approve'
  | 'poll'
  | 'keys'
  | 'metadata'
  | 'administer';

/**
 * The outcome. `waiting`: a pending poll. `inactive`: the result of an introspection. `sent-away`: a redirect with an
 * error. `unavailable`: 503 or 429. `lost`: no response. `failed`: a response that no server should give.
 */
export type Result =
  'good' | 'waiting' | 'refused' | 'inactive' | 'sent-away' | 'unavailable' | 'lost' | 'failed';

export interface Outcome {
  readonly result: Result;
  /** 0 without an answer. */
  readonly status: number;
  /** The registered code, or the code of the connection's error. */
  readonly error?: string;
}

/** The tenant, client and person of a token or response. */
export interface Whom {
  readonly tenant?: string;
  readonly clientId?: string;
  readonly subject?: string;
}

export interface Delivered extends Whom {
  readonly type: 'access' | 'refresh' | 'id' | 'one-time';
  /** Identifies the value in the history, which never contains the value itself. */
  readonly hash: string;
  readonly jti?: string;
  readonly kid?: string;
  /** Whether a key published before verifies its signature; absent for opaque values. */
  readonly verified?: boolean;
}

export interface Operation {
  /** The request id it was sent with. */
  readonly id: string;
  readonly kind: Kind;
  /** The virtual client. */
  readonly actor: string;
  readonly tenant: string;
  readonly clientId: string;
  /** User name of the person; empty if the client acts on its own behalf. */
  readonly person: string;
  /** Hash of the one-time value or token that was presented. */
  readonly presented?: string | undefined;
  /** The grant or session that the request relies on. */
  readonly basis?: string | undefined;
  /** Grants and sessions that this operation ends if it succeeds. */
  readonly ends?: readonly string[] | undefined;
  /** Number of earlier attempts of the same request. */
  readonly attempt: number;
  /** Milliseconds of `performance.now()`. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
  readonly delivered: readonly Delivered[];
  /** Result of an introspection or userinfo request. */
  readonly said?: Whom | undefined;
  /** Key ids of a key set. */
  readonly published?: readonly string[] | undefined;
  /** A final introspection, made for every refresh token of the run. */
  readonly sweep?: boolean | undefined;
}

/** The fault that was injected. */
export interface Fault {
  /** `kill`: a process was killed. `forget`: Redis lost its data. `stop`: anything else. */
  readonly type: 'kill' | 'forget' | 'stop';
  readonly what: string;
  readonly from: number;
  /** When everything was running again. */
  until: number;
}

/** An audit row about an access token: it was issued, or its response was not delivered. */
export interface AuditRow {
  readonly event: string;
  /** Empty for a response that was not delivered. */
  readonly jti: string;
  readonly requestId: string;
  readonly tenant: string;
}

export interface History {
  readonly operations: readonly Operation[];
  readonly faults: readonly Fault[];
}

/** Long enough to distinguish values, too short to reveal one. */
export const nameOf = (value: string): string =>
  createHash('sha256').update(value).digest('base64url').slice(0, 16);
