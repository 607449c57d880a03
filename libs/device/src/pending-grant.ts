/** Which flow a request belongs to, by the value its client polls with. */
export type GrantKind = 'device_code' | 'auth_req_id';

/** A client's request for a person's approval. It never changes. */
export interface GrantRequest {
  readonly kind: GrantKind;
  /** SHA-256 of the device_code or auth_req_id, hexadecimal. */
  readonly hash: string;
  /** Identifies the request on pages; unrelated to the device_code or auth_req_id. */
  readonly requestId: string;
  readonly tenantId: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** The named resource, else the audience of the requested API scopes; empty if there is neither. */
  readonly resource: string;
  readonly issuer: string;
  /** Address the request came from. */
  readonly ipAddress: string;
  /** Empty when there is none, and for a client that did not authenticate. */
  readonly bindingMessage: string;
  /** Whether the client authenticated when it started the request. */
  readonly authenticated: boolean;
  /** Absent if the client only polls. */
  readonly delivery?: RequestedDelivery | undefined;
}

/**
 * The delivery that the client of a backchannel request gets (CIBA Core §5). Redis stores these fields under these
 * names.
 */
export interface RequestedDelivery {
  readonly mode: 'ping';
  /** The auth_req_id and the client_notification_token, encrypted for the request. */
  readonly sealed: string;
}

/** The only person who may decide a request. */
export interface Owner {
  readonly tenantId: string;
  readonly userId: string;
  /** For a device flow, the session that opened it; empty if any session of the person may decide. */
  readonly sessionId: string;
}

export type Decision = 'approved' | 'denied';

/** The origin of a call, for the audit trail. */
export interface Trail {
  readonly requestId: string;
  readonly ipAddress: string;
}
