import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { OAuthError, otherPaths } from '@tessera/oauth';
import { readQuery } from '@tessera/pages';
import type { Gateway } from '../gateway.ts';
import { servesTenant } from './signed-in-person.ts';
import type { Looks } from './looks/tenant-looks.ts';

const paths = {
  styleSheet: `${otherPaths.assets}/looks.css`,
  logo: `${otherPaths.assets}/logo.png`,
} as const;

/** What a page refers to, below the issuer; undefined for what a tenant does not have. */
export function looksLinks(tenantId: string, { styleSheet, logo, version }: Looks) {
  const query = `?${new URLSearchParams({ tenant: tenantId, v: version }).toString()}`;
  return {
    tenantStyle: styleSheet === '' ? undefined : paths.styleSheet + query,
    tenantLogo: logo === undefined ? undefined : paths.logo + query,
  };
}

/**
 * Serves the files that tenants have declared: at their issuer alone, and so that browsers run nothing that is in them.
 */
export function addLooksFiles(app: FastifyInstance, gateway: Gateway): void {
  app.get(paths.styleSheet, async (request, reply) => {
    const { styleSheet } = await looksOf(request, reply, gateway);
    return reply.type('text/css; charset=utf-8').send(styleSheet);
  });
  app.get(paths.logo, async (request, reply) => {
    const { logo } = await looksOf(request, reply, gateway);
    if (logo === undefined) throw new OAuthError('not_found', 'Not found.');
    reply.header('content-security-policy', "default-src 'none'; sandbox");
    return reply.type('image/png').send(logo);
  });
}

/** Throws `not_found` for a tenant that is not served at this address. */
async function looksOf(request: FastifyRequest, reply: FastifyReply, gateway: Gateway): Promise<Looks> {
  const query = readQuery(request);
  const tenantId = query.get('tenant') ?? '';
  const looks = servesTenant({ request, gateway }, tenantId) ? await gateway.looks.of(tenantId) : undefined;
  if (looks === undefined) throw new OAuthError('not_found', 'Not found.');
  // A page may be older than what is served.
  const isCurrent = query.get('v') === looks.version;
  reply.header('cache-control', isCurrent ? 'public, max-age=31536000, immutable' : 'no-store');
  return looks;
}
