/** A cookie as a browser keeps it (RFC 6265 §5.3). */
export interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly host: string;
  /** False: sent to this very host only. */
  readonly subdomains: boolean;
  readonly path: string;
  readonly secure: boolean;
  readonly httpOnly: boolean;
  readonly sameSite: string | undefined;
  /** Milliseconds since the Unix epoch; undefined for a cookie that ends with the browser. */
  readonly expires: number | undefined;
}

/** The cookies of one browser. Like a browser's, they are told apart by host and not by port. */
export class CookieJar {
  #cookies: Cookie[] = [];

  /** Takes in one Set-Cookie line; what a browser would refuse is dropped without a word. */
  set(url: URL, line: string): void {
    const cookie = parse(url, line);
    if (!cookie || !acceptable(url, cookie)) return;
    const same = (other: Cookie) =>
      other.name === cookie.name && other.host === cookie.host && other.path === cookie.path;
    this.#cookies = this.#cookies.filter((other) => !same(other));
    if (cookie.expires === undefined || cookie.expires > Date.now()) this.#cookies.push(cookie);
  }

  /** What a request to `url` carries. */
  for(url: URL): readonly Cookie[] {
    return this.#cookies
      .filter(
        (cookie) =>
          (cookie.expires === undefined || cookie.expires > Date.now()) &&
          (url.hostname === cookie.host || (cookie.subdomains && url.hostname.endsWith(`.${cookie.host}`))) &&
          pathMatches(url.pathname, cookie.path) &&
          (!cookie.secure || trustworthy(url)),
      )
      .toSorted((a, b) => b.path.length - a.path.length);
  }

  header(url: URL): string | undefined {
    const cookies = this.for(url);
    return cookies.length === 0 ? undefined : cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  }

  all(): readonly Cookie[] {
    return this.#cookies;
  }

  clear(): void {
    this.#cookies = [];
  }
}

function parse(url: URL, line: string): Cookie | undefined {
  const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
  const at = pair.indexOf('=');
  if (at < 1) return undefined;
  const given = new Map(
    attributes.map((attribute) => {
      const [name = '', ...value] = attribute.split('=');
      return [name.trim().toLowerCase(), value.join('=').trim()] as const;
    }),
  );
  const domain = given.get('domain')?.replace(/^\./, '').toLowerCase();
  const path = given.get('path');
  return {
    name: pair.slice(0, at),
    value: pair.slice(at + 1),
    host: domain || url.hostname,
    subdomains: Boolean(domain),
    path: path?.startsWith('/') ? path : defaultPath(url),
    secure: given.has('secure'),
    httpOnly: given.has('httponly'),
    sameSite: given.get('samesite'),
    expires: expiry(given),
  };
}

function expiry(attributes: ReadonlyMap<string, string>): number | undefined {
  const maxAge = attributes.get('max-age');
  if (maxAge !== undefined && /^-?\d+$/.test(maxAge)) return Date.now() + Number(maxAge) * 1000;
  const expires = Date.parse(attributes.get('expires') ?? '');
  return Number.isNaN(expires) ? undefined : expires;
}

function acceptable(url: URL, cookie: Cookie): boolean {
  if (url.hostname !== cookie.host && !url.hostname.endsWith(`.${cookie.host}`)) return false;
  if (cookie.secure && !trustworthy(url)) return false;
  if (cookie.sameSite?.toLowerCase() === 'none' && !cookie.secure) return false;
  if (cookie.name.startsWith('__Secure-') && !cookie.secure) return false;
  if (cookie.name.startsWith('__Host-')) return cookie.secure && !cookie.subdomains && cookie.path === '/';
  return true;
}

/** Browsers treat loopback as they treat https. */
const trustworthy = (url: URL) =>
  url.protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);

/** RFC 6265 §5.1.4 */
function defaultPath(url: URL): string {
  const last = url.pathname.lastIndexOf('/');
  return last <= 0 ? '/' : url.pathname.slice(0, last);
}

/** RFC 6265 §5.1.4 */
const pathMatches = (path: string, cookiePath: string) =>
  path === cookiePath || path.startsWith(cookiePath.endsWith('/') ? cookiePath : `${cookiePath}/`);
