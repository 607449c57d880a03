import type { FastifyInstance, FastifyRequest } from 'fastify';
import { userAgentHash } from '../http/incoming.ts';
import { readCookie } from '../http/cookies.ts';

/** In characters. */
const longestUserAgent = 256;
const longestLanguages = 256;

/** What `authorize` must know about the browser of a request. */
export interface BrowserContext {
  readonly browserId: string;
  readonly sessionToken: string;
  readonly knownBrowserToken: string;
  readonly ipAddress: string;
  readonly userAgentHash: string;
  readonly userAgent: string;
  readonly issuer: string;
  /** The tenant whose own issuer it is; empty at the shared issuer. */
  readonly tenantId: string;
  /** The languages that it asks for, the best first, with spaces between. */
  readonly languages: string;
}

/** Reads it from the request; `browserId` replaces the cookie's value where the browser has none yet. */
export function browserContext(
  app: FastifyInstance,
  request: FastifyRequest,
  browserId?: string,
): BrowserContext {
  return {
    browserId: browserId ?? readCookie(app, request, 'browser'),
    sessionToken: readCookie(app, request, 'session'),
    knownBrowserToken: readCookie(app, request, 'knownBrowser'),
    ipAddress: request.incoming.ipAddress,
    userAgentHash: userAgentHash(request.raw),
    userAgent: (request.headers['user-agent'] ?? '').slice(0, longestUserAgent),
    issuer: request.incoming.issuer(),
    tenantId: request.incoming.tenant?.tenantId ?? '',
    languages: languagesOf(request).join(' ').slice(0, longestLanguages),
  };
}

/** RFC 9110 §12.5.4. */
function languagesOf(request: FastifyRequest): string[] {
  if (request.headers['accept-language'] === undefined) return [];
  return request
    .accepts()
    .languages()
    .filter((tag) => tag !== '*');
}
