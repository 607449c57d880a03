import { accessSync, constants } from 'node:fs';
import { parseAddresses } from '@tessera/kit';

/**
 * Reads `postgres://user:password@host:port,host:port/database?...`, as libpq does: one of several hosts is the primary,
 * the others are its standbys. `target_session_attrs` may be `read-write` or `primary`, which it is anyway.
 * @returns a connection string for each of the hosts, in order.
 * @throws Error with a sentence that says what is expected and repeats nothing of the text.
 */
export function parsePostgresUrl(text: string): readonly string[] {
  const match = /^(postgres(?:ql)?:\/\/)([^@/]*@)?([^@/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/.exec(text);
  if (match === null) throw new Error(form);
  const [, scheme = '', credentials = '', hosts = '', path = '', query = ''] = match;
  const options = new URLSearchParams(query);
  const wanted = options.get('target_session_attrs');
  if (wanted !== null && wanted !== 'read-write' && wanted !== 'primary')
    throw new Error('target_session_attrs can be read-write or primary: Tessera reads and writes');
  if (!hosts.includes(',')) {
    if (URL.parse(text) === null) throw new Error(form);
    return [text];
  }
  const addresses = parseAddresses(hosts, 5432);
  if (addresses === undefined) throw new Error(form);
  options.delete('target_session_attrs');
  const rest = options.size === 0 ? path : `${path}?${options.toString()}`;
  return addresses.map(({ host, port }) => {
    const name = host.includes(':') ? `[${host}]` : host;
    return `${scheme}${credentials}${name}:${port}${rest}`;
  });
}

/** Credentials are not written in it, where the log would take them for somebody's. */
const form =
  'expected postgres://credentials@host:port[,host:port...]/database[?sslmode=verify-full&...]; credentials are user:password';

const files = ['sslrootcert', 'sslcert', 'sslkey'];

/**
 * Finds out before the first connection whether the files that a connection string names are there.
 * @throws Error with a sentence that names the option.
 */
export function requireFiles(connectionString: string): void {
  const options = new URLSearchParams(/\?([^#]*)/.exec(connectionString)?.[1] ?? '');
  for (const option of files) {
    const path = options.get(option);
    if (path === null) continue;
    try {
      accessSync(path, constants.R_OK);
    } catch (error) {
      const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
      throw new Error(`The file that ${option} in DATABASE_URL names cannot be read (${reason}).`, {
        cause: error,
      });
    }
  }
}
