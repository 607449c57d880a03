import { OAuthError } from '@tessera/oauth';
import { ClientAuthenticationMethod } from '@tessera/proto-gen/token';
import type { EndpointRequest } from './endpoint.ts';

/** How a client identified itself and with which secret. The services check whether that is right. */
export interface ClientAuthentication {
  readonly clientId: string;
  /** '' for a client that only names itself. */
  readonly clientSecret: string;
  readonly method: ClientAuthenticationMethod;
}

/**
 * Reads the authentication of the client from the Authorization header or the body (RFC 6749 §2.3.1); undefined if the request
 * names no client. Throws `invalid_request` if both are used and `invalid_client` for a header that cannot be read.
 */
export function clientAuthentication({
  authorization,
  parameters,
}: Pick<EndpointRequest, 'authorization' | 'parameters'>): ClientAuthentication | undefined {
  const clientId = parameters.get('clientId');
  const clientSecret = parameters.get('clientSecret');
  if (authorization !== undefined) {
    const basic = readBasic(authorization);
    if (clientSecret !== undefined) {
      throw new OAuthError('invalid_request', 'The client used more than one way to authenticate.');
    }
    if (clientId !== undefined && clientId !== basic.clientId) {
      throw new OAuthError('invalid_request', 'The client identifiers of the header and the body differ.');
    }
    return basic;
  }
  if (clientId === undefined) {
    if (clientSecret === undefined) return undefined;
    throw new OAuthError('invalid_request', 'The client identifier is missing.');
  }
  const { NONE, CLIENT_SECRET_POST } = ClientAuthenticationMethod;
  if (clientSecret === undefined) return { clientId, clientSecret: '', method: NONE };
  return { clientId, clientSecret, method: CLIENT_SECRET_POST };
}

/** The same if the client must at least be named. Throws `invalid_request` if it is not. */
export function requiredClientAuthentication(request: EndpointRequest): ClientAuthentication {
  const client = clientAuthentication(request);
  if (client === undefined) throw new OAuthError('invalid_request', 'The client identifier is missing.');
  return client;
}

/** Whether there is a secret to check, not only a name. */
export function hasSecret({ method }: ClientAuthentication): boolean {
  return method !== ClientAuthenticationMethod.NONE;
}

function readBasic(authorization: string): ClientAuthentication {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1];
  const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const clientId = decodeComponent(text.slice(0, Math.max(colon, 0)));
  const clientSecret = decodeComponent(text.slice(colon + 1));
  if (colon < 1 || clientId === undefined || clientId === '' || clientSecret === undefined) {
    throw new OAuthError('invalid_client', 'The Authorization header is not valid client authentication.');
  }
  return { clientId, clientSecret, method: ClientAuthenticationMethod.CLIENT_SECRET_BASIC };
}

/** Each half is form-encoded before the two are joined (RFC 6749 §2.3.1). */
function decodeComponent(text: string): string | undefined {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '));
    return decoded.isWellFormed() && !decoded.includes('\0') ? decoded : undefined;
  } catch {
    return undefined;
  }
}
