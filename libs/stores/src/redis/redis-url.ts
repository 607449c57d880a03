import { parseAddresses, shownOption, type Address } from '@tessera/kit';

/** What a `REDIS_URL` says. */
export interface RedisTarget {
  /** `sentinel`: the addresses are those of the Sentinels; `cluster`: of some of the nodes. */
  readonly shape: 'single' | 'sentinel' | 'cluster';
  readonly tls: boolean;
  readonly addresses: readonly Address[];
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  /** What the Sentinels call it; empty for the other shapes. */
  readonly masterName: string;
}

/** Not written in the forms, where the log would take them for somebody's. */
const credentialsForm = 'credentials are user:password';

const forms: Readonly<Record<RedisTarget['shape'], string>> = {
  single: 'redis://[credentials@]host:port[/database]',
  sentinel: 'redis+sentinel://[credentials@]host:port,host:port,.../master-name[/database]',
  cluster: 'redis+cluster://[credentials@]host:port,host:port,...',
};

/**
 * Reads `redis://`, `redis+sentinel://` and `redis+cluster://`, each also with `rediss` for TLS. User and password are
 * those of Redis, percent-encoded where they hold reserved characters.
 * @throws Error with a sentence that says what is expected and repeats nothing of the text.
 */
export function parseRedisUrl(text: string): RedisTarget {
  const match = /^redis(s?)(?:\+(sentinel|cluster))?:\/\/(?:([^@/]*)@)?([^@/?#]+)(\/[^?#]*)?$/.exec(text);
  const [, query = '', option = ''] = /^[^?]*\?(([^=&]*).*)$/s.exec(text) ?? [];
  if (match === null && query !== '')
    throw new Error(
      `${shownOption(option, query)} is not known: a Redis URL has none; for TLS write rediss://, for a database /number`,
    );
  if (match === null)
    throw new Error(`expected ${Object.values(forms).join(', or ')}; ${credentialsForm}; rediss for TLS`);
  const [, tls, extension, credentials, hosts = '', path = ''] = match;
  const shape = extension === 'sentinel' || extension === 'cluster' ? extension : 'single';
  const expected = `expected ${forms[shape]}; ${credentialsForm}`;
  const addresses = parseAddresses(hosts, shape === 'sentinel' ? 26_379 : 6379);
  if (addresses === undefined || (shape === 'single' && addresses.length > 1)) throw new Error(expected);
  const segments = path.split('/').filter((segment) => segment !== '');
  const masterName = shape === 'sentinel' ? decode(segments.shift() ?? '', expected) : '';
  if (shape === 'sentinel' && masterName === '') throw new Error(`${expected}; the master-name is missing`);
  const database = segments[0] ?? '0';
  if (segments.length > 1 || !/^\d{1,6}$/.test(database)) throw new Error(expected);
  if (shape === 'cluster' && database !== '0') throw new Error('a cluster has no other database than 0');
  const [username, password] = splitCredentials(credentials).map(
    (part) => decode(part, expected) || undefined,
  );
  return { shape, tls: tls === 's', addresses, username, password, database: Number(database), masterName };
}

function splitCredentials(credentials = ''): [user: string, password: string] {
  const colon = credentials.indexOf(':');
  return colon < 0 ? [credentials, ''] : [credentials.slice(0, colon), credentials.slice(colon + 1)];
}

function decode(text: string, expected: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error(`${expected}; a % that is meant is written %25`);
  }
}
