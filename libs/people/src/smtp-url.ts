import { isDecodable, shownOption } from '@tessera/kit';

/**
 * Why a URL is no SMTP server, as the end of a sentence; undefined if it is one. It may not carry options of the
 * library.
 */
export function smtpUrlProblem(text: string): string | undefined {
  const expected = 'expected smtp://user:password@smtp.example.com:587 or smtps://...:465';
  const url = URL.parse(text);
  const query = url?.search.slice(1) ?? '';
  if (query !== '')
    return `${shownOption(/^[^=&]*/.exec(query)?.[0] ?? '', query)} is not known: it has none; see TESSERA_SMTP_TLS and TESSERA_SMTP_CA`;
  if (url === null || !isDecodable(url.username) || !isDecodable(url.password)) return expected;
  const isServer = ['smtp:', 'smtps:'].includes(url.protocol) && url.hostname !== '';
  return isServer && ['', '/'].includes(url.pathname) && url.hash === '' ? undefined : expected;
}
