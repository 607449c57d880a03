import type { Caller } from '@tessera/proto-gen/token';

/** The issuer of a request: the configured one, or the one the gateway derived from the host. */
export function issuerOf(configured: string | undefined, caller: Caller | undefined): string {
  const issuer = configured ?? caller?.issuer ?? '';
  if (issuer === '') throw new Error('the request carries no issuer and none is configured');
  return issuer;
}
