import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { opaqueValue, type Random } from '@tessera/kit';

/**
 * The gateway's cookies: `browser` ties a started flow to its browser, `session` is the interactive session,
 * `knownBrowser` survives it and gives the browser a limit of wrong passwords of its own, `signedOut`, `decided`,
 * `passwordSet` and `accountResult` carry the result of a form to the next page, `afterProvider` where a browser goes
 * that signs out of a provider.
 */
export type CookieName =
  | 'accountResult'
  | 'afterProvider'
  | 'browser'
  | 'session'
  | 'knownBrowser'
  | 'signedOut'
  | 'decided'
  | 'passwordSet';

const names: Readonly<Record<CookieName, string>> = {
  accountResult: 'tessera_account_result',
  afterProvider: 'tessera_after_provider',
  browser: 'tessera_browser',
  session: 'tessera_session',
  knownBrowser: 'tessera_known_browser',
  signedOut: 'tessera_signed_out',
  decided: 'tessera_decided',
  passwordSet: 'tessera_password_set',
};

/**
 * A tenant with an issuer of its own has cookies of its own, by their names: a path would not protect them, and with
 * another path than `/` browsers refuse the prefix. On https the prefix makes browsers refuse the cookie from any other
 * host or path (RFC 6265bis §4.1.3.2).
 */
function wireName(name: CookieName, request: FastifyRequest): string {
  const { tenant } = request.incoming;
  const own = tenant === undefined ? names[name] : `${names[name]}.${tenant.tenantId}`;
  return isSecure(request) ? `__Host-${own}` : own;
}

function isSecure(request: FastifyRequest): boolean {
  return request.incoming.issuer().startsWith('https:');
}

/** The value of a cookie; '' when the browser sent none, or one that is not of the kind. */
export function readCookie(app: FastifyInstance, request: FastifyRequest, name: CookieName): string {
  const header = request.headers.cookie;
  const value = header === undefined ? undefined : app.parseCookie(header)[wireName(name, request)];
  return value !== undefined && pattern[name].test(value) ? value : '';
}

const pattern: Readonly<Record<CookieName, RegExp>> = {
  accountResult: /^[a-z_]{1,40}$/,
  afterProvider: /^[\w-]{43}\.[\w-]{1,3000}$/,
  browser: /^tb_[\w-]{43}$/,
  session: /^ts_[\w.-]{1,500}$/,
  knownBrowser: /^tk_[\w-]{43}$/,
  signedOut: /^1$/,
  decided: /^(approved|denied|over)$/,
  passwordSet: /^(1|passkey)$/,
};

/** Sets a cookie; without `maxAge` (seconds) it lasts as long as the browser runs. */
export function writeCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  name: CookieName,
  value: string,
  maxAge?: number,
): void {
  const secure = isSecure(request);
  reply.setCookie(wireName(name, request), value, {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure,
    ...(maxAge === undefined ? {} : { maxAge }),
  });
}

export function dropCookie(request: FastifyRequest, reply: FastifyReply, name: CookieName): void {
  writeCookie(request, reply, name, '', 0);
}

/** A new value for the `browser` cookie. */
export function newBrowserId(random: Random): string {
  return opaqueValue('tb_', random);
}
