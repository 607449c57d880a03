import type { Socket } from 'node:net';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { contract } from '../dialects/contract.ts';
import type { Gateway } from '../gateway.ts';
import { headersOfPage } from '@tessera/pages';
import type { EventLoopLoad } from './event-loop-load.ts';

/** What Node says of bytes that it could not read as a request. */
interface ClientError extends Error {
  readonly code?: string;
  /** The bytes that came last, in a buffer. */
  readonly rawPacket?: unknown;
}

/**
 * Answers a connection that sends invalid HTTP or takes too long, without repeating any of what it sent. A request may
 * have arrived in time and wait to be read by a server that is overloaded: that is a 503. A browser whose cookies are
 * too many gets a page.
 */
export function refuseConnection(
  error: ClientError,
  socket: Socket,
  {
    load,
    gateway,
  }: { readonly load: EventLoopLoad; readonly gateway: Pick<Gateway, 'templates' | 'languages'> },
): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const isLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && load.isBusy();
  const status = isLate ? '503 Service Unavailable' : (lowLevelStatus[error.code ?? ''] ?? '400 Bad Request');
  const sent = Buffer.isBuffer(error.rawPacket) ? error.rawPacket.toString('latin1') : '';
  const { headers, body } =
    error.code === overflow && isOfBrowser(sent) ? pageOf(sent, gateway) : json(isLate);
  const lines = Object.entries({
    ...headers,
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Content-Type-Options': 'nosniff',
    ...(isLate && { 'Retry-After': '1' }),
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`);
}

const overflow = 'HPE_HEADER_OVERFLOW';

const lowLevelStatus: Readonly<Record<string, string>> = {
  [overflow]: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

const unreadable = new OAuthError('invalid_request', 'The request could not be read.');

interface Answer {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function json(isLate: boolean): Answer {
  const { code, message } = isLate ? temporarilyUnavailable() : unreadable;
  const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' };
  return { headers, body: JSON.stringify(contract.failure(code, message)) };
}

/**
 * Whether the last bytes of headers that are too long are those of a browser that opens a page (Fetch Metadata, RFC
 * 9110 §12.5.1), or a list of cookies (RFC 6265 §4.2.1), which come last and which nothing else keeps so many of.
 */
function isOfBrowser(sent: string): boolean {
  if (/^sec-fetch-mode: *navigate/im.test(sent) || /^accept:[^\n]*text\/html/im.test(sent)) return true;
  return /[^\s;=]{1,256}=[^\s;]{0,4096}; [^\s;=]{1,256}=/.test(sent.slice(-2 * longestCookie));
}

/** In characters (RFC 6265 §6.1). */
const longestCookie = 4096;

function pageOf(sent: string, { templates, languages }: Pick<Gateway, 'templates' | 'languages'>): Answer {
  const [, wished = 'en'] = /^accept-language: *([a-z-]{2,16})/im.exec(sent) ?? [];
  const language = languages.of(languages.first(wished) ?? 'en');
  const page = {
    base: '',
    title: 'Your browser sent too many cookies',
    message: 'This site cannot read so many. Most of them belong to other sites of the same domain.',
    advice:
      'Delete the cookies of this site and of its domain in the settings of your browser, then try again.',
  };
  const headers = {
    ...headersOfPage('own'),
    'content-type': 'text/html; charset=utf-8',
    'content-language': language.tag,
  };
  return { headers, body: templates.render('notice', page, language) };
}
