import type { FastifyRequest } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { rawQuery } from '@tessera/pages';
import type { Gateway } from '../gateway.ts';
import { browserContext } from './browser-context.ts';
import { servesTenant } from './signed-in-person.ts';

/**
 * The tenant whose looks a page has: the one that the page names, else that of the issuer, of the client that the
 * request names, or of the person who is signed in. Undefined if there is none, or if it cannot be found out, which is
 * no reason to show no page.
 */
export async function whosePage(
  request: FastifyRequest,
  gateway: Gateway,
  named: string | undefined,
): Promise<string | undefined> {
  const known = named ?? request.incoming.tenant?.tenantId;
  if (known !== undefined && known !== '') return known;
  try {
    const found = (await tenantOfClient(request, gateway)) ?? (await tenantOfSession(request, gateway));
    return found !== undefined && servesTenant({ request, gateway }, found) ? found : undefined;
  } catch {
    return undefined;
  }
}

async function tenantOfClient(request: FastifyRequest, gateway: Gateway): Promise<string | undefined> {
  const clientId = new URLSearchParams(rawQuery(request)).get('client_id') ?? '';
  if (clientId === '') return undefined;
  const call = rootCall(request.incoming.requestId);
  const found = await gateway.peers.directory.getApplication({ clientId }, call).catch(() => undefined);
  return found?.tenant?.tenantId;
}

async function tenantOfSession(request: FastifyRequest, gateway: Gateway): Promise<string | undefined> {
  const browser = browserContext(request.server, request);
  if (browser.sessionToken === '') return undefined;
  const call = rootCall(request.incoming.requestId);
  return (await gateway.peers.authorize.getSession({ browser }, call)).session?.tenantId;
}
