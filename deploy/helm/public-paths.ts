import { routes } from '../../libs/gateway/src/routes.ts';

/** For callers inside the cluster, at the Service. */
export const closedPaths = ['/introspect', '/revoke', '/auth/verify'];

/** What the public reaches below an issuer: paths of the gateway, and with a slash at the end what is below one. */
export function publicPaths(): string[] {
  const open = routes.filter(({ path }) => !closedPaths.includes(path));
  return [...new Set(['/assets/', ...open.map(({ path }) => path.replace(/:.*$/, ''))])].toSorted();
}
