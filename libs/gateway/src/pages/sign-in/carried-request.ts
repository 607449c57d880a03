import { endpointPaths } from '@tessera/oauth';

/** Name of the parameter and of the field. */
export const againField = 'again';

/**
 * In characters. The request is carried in an address, which comes in one header of a response: proxies on the way have
 * 4 KiB for all of them.
 */
const longestCarried = 2000;

/** Visible ASCII without `#`, which would cut the address. */
const queryShape = /^[!"$-~]+$/;

/** What begins the text of a part of a request. A request never begins so: its first parameter has a name. */
const partMark = '&';

/**
 * An authorization request as the pages of its sign-in carry it on, to begin anew once that is over. It is judged as if
 * its client sent it again, so it needs no proof of being the same. Of one that is too long, or has an ID token, which
 * belongs in no address that people keep, only the part that says which application it is from. Undefined for what no
 * address can have.
 * @param query of the request, without the question mark
 */
export function carriedRequest(query: string): string | undefined {
  if (!queryShape.test(query)) return undefined;
  const parameters = new URLSearchParams(query);
  const part = (...names: readonly string[]): string =>
    partMark +
    new URLSearchParams(
      names.flatMap((name) => (parameters.has(name) ? [[name, parameters.get(name) ?? '']] : [])),
    ).toString();
  return [
    ...(parameters.has('id_token_hint') ? [] : [query]),
    part('client_id', 'redirect_uri'),
    part('client_id'),
  ]
    .map((each) => Buffer.from(each).toString('base64url'))
    .find((text) => text.length <= longestCarried);
}

/** The request that a page carries. */
export interface RequestAgain {
  /** As `carriedRequest` returned it. */
  readonly text: string;
  /** Begins anew; undefined for a part of a request. */
  readonly path: string | undefined;
  readonly clientId: string;
  /** Empty if the request names none. */
  readonly redirectUri: string;
}

/** Undefined for what is none. */
export function requestAgain(parameters: ReadonlyMap<string, string>): RequestAgain | undefined {
  const text = parameters.get(againField) ?? '';
  if (text === '' || text.length > longestCarried || !/^[\w-]+$/.test(text)) return undefined;
  const query = Buffer.from(text, 'base64url').toString('latin1');
  if (!queryShape.test(query)) return undefined;
  const named = new URLSearchParams(query);
  return {
    text,
    path: query.startsWith(partMark) ? undefined : `${endpointPaths.authorization}?${query}`,
    clientId: named.get('client_id') ?? '',
    redirectUri: named.get('redirect_uri') ?? '',
  };
}

/**
 * The path of a request that asks for a sign-in even where a session exists, so that it shows a page and issues no code
 * (OIDC Core §3.1.2.1).
 */
export function showingPage(path: string): string {
  const [endpoint = '', query = ''] = path.split('?');
  const prompts = new Set(new URLSearchParams(query).get('prompt')?.split(' ') ?? []).add('login');
  const others = query.split('&').filter((each) => !each.startsWith('prompt='));
  return `${endpoint}?${[...others, `prompt=${[...prompts].join('+')}`].join('&')}`;
}
