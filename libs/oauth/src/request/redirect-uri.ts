const maximumBytes = 2048;
const loopbackHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
const privateUseScheme = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+$/;

/** Percent-encoded unreserved characters (RFC 3986 §6.2.2.2), and percent signs that a second decoding would open. */
const needlessEncoding = /%(2[de]|3\d|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae])|%25[0-9a-f]{2}/i;

/** The parts of a URI as written (RFC 3986 appendix B), without normalization. */
interface WrittenUri {
  readonly scheme: string;
  /** undefined without `//`. */
  readonly authority: string | undefined;
  readonly path: string;
}

/**
 * Why a redirect URI must not be registered, as one sentence; undefined if it may (RFC 6749 §3.1.2, RFC 9700 §4.1, RFC
 * 8252 §7). Allowed are https, http on a loopback host, and private-use schemes with a dot. URIs that parsers are known
 * to read differently are refused, so that a byte comparison means the same to everyone.
 */
export function redirectUriProblem(uri: string): string | undefined {
  if (uri.includes('#')) return 'It must not have a fragment.';
  return locationProblem(uri);
}

/**
 * Why a logout redirect URI must not be registered. The rules are those of redirect URIs, except that a fragment is
 * allowed: no response parameter follows it, and OIDC RP-Initiated Logout §3.1 does not forbid it.
 */
export function logoutRedirectUriProblem(uri: string): string | undefined {
  return locationProblem(uri);
}

/**
 * Why the beginning of redirect URIs must not be registered. It has a scheme, a host, a port and a path that ends with
 * a slash, so that what follows can change none of these.
 */
export function redirectUriPrefixProblem(uri: string): string | undefined {
  const problem = redirectUriProblem(uri);
  if (problem !== undefined) return problem;
  if (!/^https?:/.test(uri)) return 'It must be an https URL, or one with http on a loopback host.';
  if (uri.includes('*')) return 'It must not have a wildcard: it is the beginning itself.';
  if (uri.includes('?')) return 'It must not have a query.';
  return uri.endsWith('/') ? undefined : 'It must end with a slash.';
}

/** What matches besides the registered URIs themselves. */
interface Wider {
  /** The port of loopback redirects does not count (RFC 8252 §7.3). */
  readonly anyLoopbackPort?: boolean;
  /** What begins with one of these matches, if nothing in it may lead elsewhere. */
  readonly redirectUriPrefixes?: readonly string[];
}

/**
 * Whether `uri` is one of the registered ones, byte for byte (RFC 9700 §2.1), as the contract asks: path, port and
 * trailing slash.
 */
export function matchesRegistered(
  registered: readonly string[],
  uri: string,
  { anyLoopbackPort = false, redirectUriPrefixes = [] }: Wider = {},
): boolean {
  if (registered.includes(uri)) return true;
  const asked = anyLoopbackPort ? withoutLoopbackPort(uri) : undefined;
  if (asked !== undefined && registered.some((known) => withoutLoopbackPort(known) === asked)) return true;
  return redirectUriPrefixes.some((prefix) => uri.startsWith(prefix) && staysBelow(prefix, uri));
}

/** What clients read from the query of a response: a redirect URI that has one of these would answer in our place. */
const responseParameters: ReadonlySet<string> = new Set([
  'access_token',
  'code',
  'error',
  'error_description',
  'error_uri',
  'id_token',
  'iss',
  'response',
  'session_state',
  'state',
]);

/** A slash, a backslash, a control character or the like that a server may find behind percent signs. */
const hiddenSeparator = /%(0|1|2[35f]|3[bf]|5c|7f)/i;

/**
 * Whether a URI that begins with a prefix is below it to every parser (RFC 9700 §4.1.1), and names no address in its
 * query, where a page that forwards people would look for one.
 */
function staysBelow(prefix: string, uri: string): boolean {
  if (redirectUriProblem(uri) !== undefined) return false;
  const [path = '', query = ''] = uri.slice(prefix.length).split(/\?(.*)/s);
  const segments = path.split('/');
  if (segments.slice(0, -1).includes('') || /[;*]/.test(path) || hiddenSeparator.test(path)) return false;
  return [...new URLSearchParams(query)].every(
    ([name, value]) => !responseParameters.has(name) && !namesAddress(name) && !namesAddress(value),
  );
}

/** However often it was encoded. */
function namesAddress(text: string): boolean {
  return /[\\\p{Cc}%]|\/\/|^\s*[a-z][a-z0-9+.-]*:/iu.test(text);
}

/** Whether a redirect URI is one of a program on the person's own machine: http on a loopback host. */
export function isLoopbackRedirect(uri: string): boolean {
  return withoutLoopbackPort(uri) !== undefined;
}

/** Undefined for anything but http on a loopback host, as written. */
function withoutLoopbackPort(uri: string): string | undefined {
  const [, host, port, rest = ''] =
    /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::([1-9]\d{0,4}))?([/?].*)?$/.exec(uri) ?? [];
  if (host === undefined || Number(port ?? 0) > 65535) return undefined;
  return `http://${host}${rest}`;
}

function locationProblem(uri: string): string | undefined {
  if (Buffer.byteLength(uri) > maximumBytes) return `It must not be longer than ${maximumBytes} bytes.`;
  if (!/^[\x21-\x7e]*$/.test(uri)) return 'It must consist of printable ASCII characters without spaces.';
  if (uri.includes('\\')) return 'It must not have a backslash.';
  if (/%(?![0-9a-f]{2})/i.test(uri)) return 'Every percent sign must begin a percent-encoded byte.';
  if (uri.split('@').length > 2) return 'It must not have several "@".';
  const written = split(uri);
  if (written === undefined) return 'It must be an absolute URI.';
  return (
    schemeProblem(written) ?? authorityProblem(written) ?? pathProblem(written.path) ?? parserProblem(uri)
  );
}

function split(uri: string): WrittenUri | undefined {
  const parts = /^([A-Za-z][A-Za-z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)/.exec(uri);
  if (parts === null) return undefined;
  const [, scheme = '', authority, path = ''] = parts;
  return { scheme, authority, path };
}

function schemeProblem({ scheme, authority, path }: WrittenUri): string | undefined {
  if (scheme === 'https' || scheme === 'http') {
    return authority === undefined || authority === '' ? 'It must name a host.' : undefined;
  }
  if (!privateUseScheme.test(scheme)) {
    return 'Its scheme must be https, http on a loopback host, or a private-use scheme with a dot, in lower case.';
  }
  return (authority ?? '') + path === '' ? 'It must name a host or a path.' : undefined;
}

function authorityProblem({ scheme, authority = '' }: WrittenUri): string | undefined {
  if (authority.includes('@')) return 'It must not have user information.';
  if (authority.includes('*')) return 'It must not have a wildcard in its host.';
  if (scheme !== 'https' && scheme !== 'http') return undefined;
  const [, host = '', port] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(authority) ?? [];
  if (host === '') return 'It must name a host.';
  if (port !== undefined && !(/^[1-9]\d{0,4}$/.test(port) && Number(port) <= 65535)) {
    return 'Its port must be a number from 1 to 65535.';
  }
  if (!isNormalHost(host)) return 'Its host must be a plain host name or address in lower case.';
  if (scheme === 'http' && !loopbackHosts.has(host)) {
    return 'With http its host must be localhost, 127.0.0.1 or [::1]; use https.';
  }
  return undefined;
}

/** Whether browsers read a host exactly as written: no encodings, short or hexadecimal addresses, or capitals. */
function isNormalHost(host: string): boolean {
  if (!/^(\[[0-9a-f:.]+\]|[a-z0-9]([a-z0-9._-]*[a-z0-9])?)$/.test(host) || host.includes('..')) return false;
  return URL.parse(`https://${host}/`)?.hostname === host;
}

function pathProblem(path: string): string | undefined {
  if (needlessEncoding.test(path))
    return 'Its path must not percent-encode dots, letters, digits or percent-encodings.';
  const dotted = path.split('/').some((segment) => /^\.\.?(;|$)/.test(segment));
  return dotted ? 'Its path must not have "." or ".." segments.' : undefined;
}

function parserProblem(uri: string): string | undefined {
  return URL.canParse(uri) ? undefined : 'It must be an absolute URI.';
}
