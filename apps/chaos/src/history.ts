import { createHash } from 'node:crypto';

/** What was asked. One operation is one request, or for `approve` the few that a decision on a page takes. */
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
  | 'metadata';

/**
 * How it was answered. `waiting`: a pending poll. `inactive`: introspection said so. `sent-away`: a redirect that is no
 * success. `unavailable`: 503 or 429. `lost`: no answer. `failed`: whatever no server should answer.
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

/** Whom a token or an answer speaks of. */
export interface Whom {
  readonly tenant?: string;
  readonly clientId?: string;
  readonly subject?: string;
}

export interface Delivered extends Whom {
  readonly type: 'access' | 'refresh' | 'id' | 'one-time';
  /** Names the value in the history; the value itself stands nowhere in it. */
  readonly hash: string;
  readonly jti?: string;
  readonly kid?: string;
  /** Whether its signature is that of a key which a key set had shown before; absent for opaque values. */
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
  /** The person it is about, by name; empty for clients for themselves. */
  readonly person: string;
  /** Hash of the one-time value or token that was presented. */
  readonly presented?: string | undefined;
  /** What it is served on the strength of: a grant, a session. Ended together with it. */
  readonly basis?: string | undefined;
  /** Bases that a success of this ends. */
  readonly ends?: readonly string[] | undefined;
  /** How many attempts of the same thing were made before. */
  readonly attempt: number;
  /** Milliseconds of `performance.now()`. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outcome: Outcome;
  readonly delivered: readonly Delivered[];
  /** What an introspection or userinfo said. */
  readonly said?: Whom | undefined;
  /** Key ids of a key set. */
  readonly published?: readonly string[] | undefined;
  /** Asked when all was over, of every refresh token there ever was. */
  readonly sweep?: boolean | undefined;
}

/** What was done to the system meanwhile. */
export interface Fault {
  /** `kill`: a process was ended by force. `forget`: Redis lost what it held. `stop`: anything else. */
  readonly type: 'kill' | 'forget' | 'stop';
  readonly what: string;
  readonly from: number;
  /** When everything ran again. */
  until: number;
}

/** A row of the audit trail that speaks of an access token: that it was issued, or that its answer was withdrawn. */
export interface AuditRow {
  readonly event: string;
  /** Empty for an answer that was withdrawn. */
  readonly jti: string;
  readonly requestId: string;
  readonly tenant: string;
}

export interface History {
  readonly operations: readonly Operation[];
  readonly faults: readonly Fault[];
}

/** Enough to tell values apart, too little to learn one. */
export const nameOf = (value: string): string =>
  createHash('sha256').update(value).digest('base64url').slice(0, 16);
