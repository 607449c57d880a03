import type { FastifyRequest } from 'fastify';
import { notUnderstood, rootCall } from '@tessera/rpc';
import type { Session } from '@tessera/proto-gen/authorize';
import { newBrowserId, readCookie, writeCookie } from '../http/cookies.ts';
import { browserContext } from './browser-context.ts';
import type { PageContext } from './page-context.ts';

/** The person who is signed in in this browser. */
export interface Person {
  readonly session: Session;
  /** Whether the sign-in is recent enough to approve a device or backchannel request. */
  readonly fresh: boolean;
}

/** Whether the people of a tenant sign in at the issuer of a request. */
export function servesTenant(
  { request, gateway }: Pick<PageContext, 'request' | 'gateway'>,
  tenantId: string,
): boolean {
  const { tenant } = request.incoming;
  return tenant === undefined
    ? gateway.tenants.issuerOf(tenantId) === undefined
    : tenant.tenantId === tenantId;
}

/** Who is signed in at this issuer; undefined when nobody is. */
export async function signedInPerson({ app, request, gateway }: PageContext): Promise<Person | undefined> {
  const browser = browserContext(app, request);
  if (browser.sessionToken === '') return undefined;
  const { session } = await gateway.peers.authorize.getSession(
    { browser },
    rootCall(request.incoming.requestId),
  );
  if (session === undefined || !servesTenant({ request, gateway }, session.tenantId)) return undefined;
  const age = gateway.runtime.clock.now() / 1000 - signedInAt(session);
  return { session, fresh: age <= gateway.config.TESSERA_APPROVAL_MAX_AGE };
}

/** When a person signed in, in seconds since the Unix epoch. */
export function signedInAt({ authentication }: Session): number {
  if (authentication === undefined) throw notUnderstood('when a person signed in');
  return authentication.time;
}

const given = new WeakMap<FastifyRequest, string>();

/** The value of the pre-session cookie. A browser without one gets it with its first form, once per request. */
export function requireBrowserId({ app, request, reply, gateway }: PageContext): string {
  const known = given.get(request) ?? readCookie(app, request, 'browser');
  if (known !== '') return known;
  const browserId = newBrowserId(gateway.runtime.random);
  given.set(request, browserId);
  writeCookie(request, reply, 'browser', browserId);
  return browserId;
}

/** How a page names a person. */
export function personName({ name, username }: Session): string {
  return name === '' ? username : name;
}
