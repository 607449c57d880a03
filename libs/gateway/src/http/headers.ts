import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Headers of every answer. */
export function commonHeaders(reply: FastifyReply, requestId: string): void {
  reply.header('x-content-type-options', 'nosniff').header('x-request-id', requestId);
}

/**
 * Lets scripts of every origin read the answer, without cookies: for what is public, and for what a browser-based
 * public client calls with nothing but what it holds itself (OAuth 2.0 for Browser-Based Apps §6.3).
 */
export function crossOriginHeaders({ headers, incoming }: FastifyRequest, reply: FastifyReply): void {
  const { origin } = headers;
  reply.header('access-control-expose-headers', 'www-authenticate, retry-after, x-request-id');
  if (incoming.isKeycloakPath) reply.header('vary', 'Origin');
  if (!incoming.isKeycloakPath || origin === undefined) {
    reply.header('access-control-allow-origin', '*');
    return;
  }
  // keycloak-js sends cookies along, which no endpoint reads, and its browser wants to be told that it may.
  reply.header('access-control-allow-origin', origin).header('access-control-allow-credentials', 'true');
}

/**
 * The page that `keycloak-js` opens in a frame: it says that frames get no cookies, so that the sign-in is not watched
 * in one. It knows nothing of who opens it.
 */
export const cookieCheckPage = (() => {
  const script = "parent.postMessage('unsupported', '*')";
  const digest = createHash('sha256').update(script).digest('base64');
  return {
    text: `<!doctype html><title>Cookies</title><script>${script}</script>\n`,
    headers: {
      'cache-control': 'public, max-age=3600',
      'content-security-policy': `default-src 'none'; script-src 'sha256-${digest}'; base-uri 'none'`,
      'referrer-policy': 'no-referrer',
    },
  };
})();
