import type { FastifyRequest } from 'fastify';
import { endpointPaths } from '@tessera/oauth';
import type { GatewayConfig } from '../config.ts';

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** They issue codes and end sessions. */
const changing: ReadonlySet<string> = new Set([endpointPaths.authorization, endpointPaths.endSession]);
/** They read, whatever the method. */
const reading: ReadonlySet<string> = new Set([endpointPaths.introspection, endpointPaths.userinfo]);

/** Whether a request has a line in the log: always if it failed, was abandoned or may have changed something. */
export function isLogged(
  { method, route = '' }: FastifyRequest,
  status: number,
  log: GatewayConfig['TESSERA_ACCESS_LOG'],
): boolean {
  if (log === 'all' || status >= 400 || changing.has(route)) return true;
  return !safeMethods.has(method) && !reading.has(route);
}
