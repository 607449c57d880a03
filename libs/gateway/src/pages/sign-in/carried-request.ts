import { endpointPaths } from '@tessera/oauth';

/** Name of the parameter and of the field. */
export const againField = 'again';

/**
 * In characters. The request is carried in an address, which comes in one header of a response: proxies on the way have 4 KiB for all of them.
 */
const longestCarried = 2000;

/** Visible ASCII without `#`, which would cut the address. */
const queryShape = /^[!"$-~]+$/;

/**
 * An authorization request as the pages of its sign-in carry it on, to begin anew once that is over. It is judged as if its client sent it again,
 * so it needs no proof of being the same. Undefined for one that is too long, and with an ID token, which belongs in no address that people keep.
 * @param query of the request, without the question mark
 */
export function carriedRequest(query: string): string | undefined {
  if (!queryShape.test(query) || new URLSearchParams(query).has('id_token_hint')) return undefined;
  const text = Buffer.from(query).toString('base64url');
  return text.length > longestCarried ? undefined : text;
}

/** The request that a page carries. */
export interface RequestAgain {
  /** As `carriedRequest` returned it. */
  readonly text: string;
  /** Begins anew. */
  readonly path: string;
  readonly clientId: string;
}

/** Undefined for what is none. */
export function requestAgain(parameters: ReadonlyMap<string, string>): RequestAgain | undefined {
  const text = parameters.get(againField) ?? '';
  if (text === '' || text.length > longestCarried || !/^[\w-]+$/.test(text)) return undefined;
  const query = Buffer.from(text, 'base64url').toString('latin1');
  if (!queryShape.test(query)) return undefined;
  const clientId = new URLSearchParams(query).get('client_id') ?? '';
  return { text, path: `${endpointPaths.authorization}?${query}`, clientId };
}
