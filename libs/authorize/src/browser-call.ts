import { hash } from 'node:crypto';
import type { CallContext } from '@tessera/rpc';

/** The person's browser as the gateway describes it, and the call that came from it. */
export interface Browser {
  /** Value of the pre-session cookie. */
  readonly browserId: string;
  /** Value of the session cookie; empty when there is none. */
  readonly sessionToken: string;
  /** Value of the known-browser cookie; empty when there is none. */
  readonly knownBrowserToken: string;
  readonly ipAddress: string;
  readonly userAgentHash: string;
  readonly userAgent: string;
  /** Issuer the browser sees, for `iss` and the tokens. */
  readonly issuer: string;
  /** The tenant whose own issuer it is; empty at the shared issuer. */
  readonly tenantId: string;
  /** The languages that it asks for, as BCP 47 tags with spaces between, the best first. */
  readonly languages: string;
}

/** A call of the gateway on behalf of a browser. */
export interface BrowserCall {
  readonly browser: Browser;
  readonly call: CallContext;
}

const knownBrowserShape = /^tk_[\w-]{43}$/;

/** The key of a known-browser cookie's value; undefined for a malformed one, so that no store is asked for it. */
export function knownBrowserHash(token: string): Buffer | undefined {
  return knownBrowserShape.test(token) ? hash('sha256', token, 'buffer') : undefined;
}

/** Hexadecimal SHA-256: how short-lived stores key opaque values. */
export function digest(value: string): string {
  return hash('sha256', value, 'hex');
}
