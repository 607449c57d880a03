import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { nearest, parseAddresses, shownOption } from '@tessera/kit';

/**
 * The options of a connection string, with their values where these are few. The driver leaves out in silence what it
 * does not know.
 */
const known: Readonly<Record<string, readonly string[] | undefined>> = {
  sslmode: ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'],
  ssl: ['true', '1', '0', 'no-verify'],
  sslnegotiation: ['postgres', 'direct'],
  sslrootcert: undefined,
  sslcert: undefined,
  sslkey: undefined,
  target_session_attrs: ['read-write', 'primary'],
  host: undefined,
  port: undefined,
  user: undefined,
  password: undefined,
  application_name: undefined,
  fallback_application_name: undefined,
  client_encoding: undefined,
  options: undefined,
};

/**
 * Reads `postgres://user:password@host:port,host:port/database?...`, as libpq does: one of several hosts is the
 * primary, the others are its standbys. `target_session_attrs` may be `read-write` or `primary`, which it is anyway.
 * @returns a connection string for each of the hosts, in order.
 * @throws Error with a sentence that says what is expected, and names an option that is not known or has another value
 * than it can have.
 */
export function parsePostgresUrl(text: string): readonly string[] {
  return hostsOf(text).map((url) => url.replace(asVerifyFull, '$1verify-full'));
}

/**
 * To the driver these mean `verify-full`, and it writes a warning of ten lines that they will not in its next major
 * version. They stay what they are by being told to it as that.
 */
const asVerifyFull = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/;

function hostsOf(text: string): readonly string[] {
  const match = /^(postgres(?:ql)?:\/\/)([^@/]*@)?([^@/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/.exec(text);
  if (match === null) throw new Error(form);
  const [, scheme = '', credentials = '', hosts = '', path = '', query = ''] = match;
  const options = new URLSearchParams(query);
  requireKnown(options, query);
  if (!hosts.includes(',')) {
    if (URL.parse(text) === null) throw new Error(form);
    return [text];
  }
  if (options.has('host') || options.has('port'))
    throw new Error('the options host and port go with one host; list several before the database');
  const addresses = parseAddresses(hosts, 5432);
  if (addresses === undefined) throw new Error(form);
  options.delete('target_session_attrs');
  const rest = options.size === 0 ? path : `${path}?${options.toString()}`;
  return addresses.map(({ host, port }) => {
    const name = host.includes(':') ? `[${host}]` : host;
    return `${scheme}${credentials}${name}:${port}${rest}`;
  });
}

function requireKnown(options: URLSearchParams, query: string): void {
  const seen = new Set<string>();
  for (const [name, value] of options) {
    if (!Object.hasOwn(known, name)) throw new Error(unknownOption(name, query));
    if (seen.has(name)) throw new Error(`the option ${name} is given twice`);
    seen.add(name);
    const values = known[name];
    if (value === '') throw new Error(`the option ${name} is empty`);
    if (values !== undefined && !values.includes(value))
      throw new Error(`the option ${name} can be ${values.join(', ')}${reasons[name] ?? ''}`);
  }
  if (seen.has('ssl') && seen.has('sslmode'))
    throw new Error('the options ssl and sslmode say the same; keep sslmode');
}

const reasons: Readonly<Record<string, string>> = {
  target_session_attrs: ': Tessera reads and writes',
};

function unknownOption(name: string, query: string): string {
  const meant = name.toLowerCase() === 'tls' ? 'sslmode' : nearest(name, Object.keys(known));
  return `${shownOption(name, query)} is not known; ${meant === undefined ? `known are ${Object.keys(known).join(', ')}` : `did you mean ${meant}?`}`;
}

/** Credentials are not written in it, where the log would take them for somebody's. */
const form =
  'expected postgres://credentials@host:port[,host:port...]/database[?sslmode=verify-full&...]; credentials are user:password';

/**
 * Finds out before the first connection whether the files that a connection string names are there and hold what they
 * should: the driver reads them while it connects, where an error is nobody's.
 * @throws Error with a sentence that names the option.
 */
export function requireFiles(connectionString: string): void {
  const options = new URLSearchParams(/\?([^#]*)/.exec(connectionString)?.[1] ?? '');
  const ca = contentOf('sslrootcert', options);
  const cert = contentOf('sslcert', options);
  const key = contentOf('sslkey', options);
  if ((cert === undefined) !== (key === undefined))
    throw new Error('sslcert and sslkey in DATABASE_URL belong together. Name both or neither.');
  if (ca !== undefined)
    requirePem(
      () => void new X509Certificate(ca),
      'The file that sslrootcert in DATABASE_URL names holds no certificate in PEM.',
    );
  if (cert !== undefined && key !== undefined)
    requirePem(
      () => void createSecureContext({ cert, key }),
      'The files that sslcert and sslkey in DATABASE_URL name are no certificate with its key, in PEM.',
    );
}

function contentOf(option: string, options: URLSearchParams): string | undefined {
  const path = options.get(option);
  if (path === null) return undefined;
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new Error(`The file that ${option} in DATABASE_URL names cannot be read (${reason}).`, {
      cause: error,
    });
  }
}

function requirePem(read: () => void, sentence: string): void {
  try {
    read();
  } catch (error) {
    throw new Error(sentence, { cause: error });
  }
}
