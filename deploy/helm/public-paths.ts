import {
  endpointPaths,
  keycloakCookieCheck,
  keycloakPaths,
  type Endpoint,
} from '../../libs/oauth/src/index.ts';
import { routes } from '../../libs/gateway/src/routes.ts';

/** For callers inside the cluster, at the Service. */
export const closedPaths = ['/introspect', '/revoke', '/auth/verify'];

/** What the public reaches below an issuer: paths of the gateway, and with a slash at the end what is below one. */
export function publicPaths(): string[] {
  const open = routes.filter(({ path }) => !closedPaths.includes(path));
  return [...new Set(['/assets/', ...open.map(({ path }) => path.replace(/:.*$/, ''))])].toSorted();
}

/** What the public reaches besides below an issuer with the paths of Keycloak: those of open endpoints. */
export function publicKeycloakPaths(): string[] {
  const open = Object.entries(keycloakPaths).filter(
    ([endpoint]) => !closedPaths.includes(endpointPaths[endpoint as Endpoint]),
  );
  return [keycloakCookieCheck, ...open.map(([, path]) => path)].toSorted();
}
