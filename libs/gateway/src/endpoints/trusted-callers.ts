import { OAuthError } from '@tessera/oauth';
import { coverInternet, isEverything } from '../http/caller-address.ts';
import type { GatewayConfig } from '../config.ts';
import { sentCredentials, hasSecret, type SentCredentials } from './sent-credentials.ts';
import type { EndpointRequest } from './endpoint.ts';

/**
 * The rule for the endpoints where the contract checks no credential (`POST /introspect`, `DELETE /revoke`): in the
 * contract profile callers from trusted networks need none. Everyone else authenticates. A secret that is sent is
 * always checked. Returns the authentication to check, undefined for an admitted caller without a secret; throws
 * `invalid_client`.
 */
export function admitCaller(
  request: EndpointRequest,
  config: Pick<GatewayConfig, 'TESSERA_PROFILE' | 'TESSERA_TRUSTED_CALLERS'>,
): SentCredentials | undefined {
  const client = sentCredentials(request);
  if (client !== undefined && hasSecret(client)) return client;
  const { ipAddress } = request.incoming;
  if (config.TESSERA_PROFILE === 'contract' && config.TESSERA_TRUSTED_CALLERS.contains(ipAddress))
    return undefined;
  throw new OAuthError('invalid_client', 'Client authentication is required.');
}

/** One sentence for each setting that leaves something open, for the start to log. */
export function insecureSettings(config: GatewayConfig): string[] {
  const insecure: string[] = [];
  if (config.TESSERA_PROFILE === 'contract') {
    const { entries, isEmpty } = config.TESSERA_TRUSTED_CALLERS;
    if (!isEmpty) {
      const everyone = entries.some(isEverything) || coverInternet(entries) ? ', which is everyone' : '';
      insecure.push(
        `POST /introspect and DELETE /revoke take callers from ${entries.join(', ')}${everyone} without credentials. ` +
          'A reverse proxy counts as the caller unless TESSERA_TRUSTED_PROXIES names it.',
      );
    }
    insecure.push(
      '/device_authorization and /backchannel_authentication take a client identifier without a secret.',
    );
    insecure.push('GET /logout ends a session without asking, from other sites too.');
  }
  if (config.TESSERA_ISSUER === undefined) {
    insecure.push('The issuer is taken from the host of the request, as TESSERA_ISSUER is not set.');
  } else if (isPlainHttp(config.TESSERA_ISSUER)) {
    insecure.push('TESSERA_ISSUER is plain http: tokens, passwords and cookies travel unencrypted.');
  }
  return insecure;
}

function isPlainHttp(issuer: string): boolean {
  const { protocol, hostname } = new URL(issuer);
  return protocol === 'http:' && !['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}
