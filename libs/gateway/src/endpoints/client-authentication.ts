import { OAuthError } from '@tessera/oauth';
import { ClientAuthenticationMethod } from '@tessera/proto-gen/token';
import { decodeFormComponent } from '../http/parameters.ts';
import type { RequestParameters } from '../http/request-parameters.ts';

/** What a client said about itself; whether it is true is for the services to check. */
export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly method: ClientAuthenticationMethod;
}

/**
 * Reads client authentication from the Authorization header (RFC 6749 §2.3.1) or the body; undefined when the request
 * names no client. Throws `invalid_request` when both are used and `invalid_client` for a header that cannot be read.
 */
export function readCredentials(
  authorization: string | undefined,
  parameters: RequestParameters,
): Credentials | undefined {
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
  const method =
    clientSecret === undefined
      ? ClientAuthenticationMethod.NONE
      : ClientAuthenticationMethod.CLIENT_SECRET_POST;
  return { clientId, clientSecret: clientSecret ?? '', method };
}

/** Like `readCredentials` where a client must at least be named. Throws `invalid_request` when it is not. */
export function requireClient(authorization: string | undefined, parameters: RequestParameters): Credentials {
  const credentials = readCredentials(authorization, parameters);
  if (credentials === undefined) throw new OAuthError('invalid_request', 'The client identifier is missing.');
  return credentials;
}

/** Whether there is something to check, not only a name. */
export function provesSomething(credentials: Credentials | undefined): credentials is Credentials {
  return credentials !== undefined && credentials.method !== ClientAuthenticationMethod.NONE;
}

function readBasic(authorization: string): Credentials {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1];
  const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const clientId = component(text.slice(0, Math.max(colon, 0)));
  const clientSecret = component(text.slice(colon + 1));
  if (colon < 1 || clientId === undefined || clientId === '' || clientSecret === undefined) {
    throw new OAuthError('invalid_client', 'The Authorization header is not valid client authentication.');
  }
  return { clientId, clientSecret, method: ClientAuthenticationMethod.CLIENT_SECRET_BASIC };
}

/** Each half is form-encoded before it is joined (RFC 6749 §2.3.1). */
function component(text: string): string | undefined {
  try {
    const decoded = decodeFormComponent(text);
    return decoded.isWellFormed() && !decoded.includes('\0') ? decoded : undefined;
  } catch {
    return undefined;
  }
}
