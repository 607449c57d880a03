import { createLogger } from '@tessera/telemetry';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parsePostgresUrl, requireFiles } from './postgres-url.ts';

describe('a Postgres URL', () => {
  it.each([
    'postgres://db/tessera',
    'postgresql://u:p@db:6432/tessera?sslmode=verify-full',
    'postgres:///tessera?host=/run/postgresql',
  ])('of one host stays as it is: %s', (text) => {
    expect(parsePostgresUrl(text)).toEqual([text]);
  });

  it.each(['prefer', 'require', 'verify-ca'])(
    'with sslmode=%s is told to the driver as verify-full, of which it does not warn',
    (sslmode) => {
      expect(parsePostgresUrl(`postgres://db/t?sslmode=${sslmode}&sslrootcert=ca.pem`)).toEqual([
        'postgres://db/t?sslmode=verify-full&sslrootcert=ca.pem',
      ]);
      expect(parsePostgresUrl(`postgres://one,two/t?sslmode=${sslmode}`)).toEqual([
        'postgres://one:5432/t?sslmode=verify-full',
        'postgres://two:5432/t?sslmode=verify-full',
      ]);
    },
  );

  it('with several hosts yields a connection string for each', () => {
    const hosts = ['one:5432', 'two:6432', '[::1]:5432'];
    expect(parsePostgresUrl('postgres://one,two:6432,[::1]/t')).toEqual(
      hosts.map((host) => `postgres://${host}/t`),
    );
  });

  it('keeps user, password and options for every host, and takes out what the driver does not know', () => {
    expect(
      parsePostgresUrl('postgres://u:p%2F@one,two/t?target_session_attrs=read-write&sslmode=verify-full'),
    ).toEqual([
      'postgres://u:p%2F@one:5432/t?sslmode=verify-full',
      'postgres://u:p%2F@two:5432/t?sslmode=verify-full',
    ]);
  });

  it.each([
    ['mysql://db/tessera', 'expected postgres://'],
    ['postgres://one,two:70000/t', 'expected postgres://'],
    ['postgres://one,,two/t', 'expected postgres://'],
    ['postgres://one:port/t', 'expected postgres://'],
    ['postgres://one/t?target_session_attrs=standby', 'reads and writes'],
  ])('%s is refused with a sentence', (text, message) => {
    expect(() => parsePostgresUrl(text)).toThrow(message);
    expect(() => parsePostgresUrl(text.replace('://', '://u:hunter2@'))).toThrow(/^(?!.*hunter2)/s);
  });

  it.each([
    ['sslMode=verify-full', 'the option sslMode is not known; did you mean sslmode?'],
    ['ssl_mode=verify-full', 'the option ssl_mode is not known; did you mean sslmode?'],
    ['tls=true', 'the option tls is not known; did you mean sslmode?'],
    [
      'sslmode=verify-full&sslrootcrt=ca.pem',
      'the option sslrootcrt is not known; did you mean sslrootcert?',
    ],
    ['channel_binding=require', 'the option channel_binding is not known; known are sslmode, '],
    ['uselibpqcompat=true&sslmode=require', 'the option uselibpqcompat is not known'],
    ['statement_timeout=0', 'the option statement_timeout is not known'],
    ['__proto__=1', 'an option is not known'],
    ['sslmode=verify_full', 'the option sslmode can be disable, prefer, '],
    ['sslmode=', 'the option sslmode is empty'],
    ['ssl=false', 'the option ssl can be true, '],
    ['sslmode=verify-full&sslmode=disable', 'the option sslmode is given twice'],
    ['ssl=true&sslmode=disable', 'keep sslmode'],
  ])('refuses ?%s, where the driver would connect otherwise than it says', (query, message) => {
    for (const hosts of ['db', 'one,two:6432'])
      expect(() => parsePostgresUrl(`postgres://u:p@${hosts}/t?${query}`)).toThrow(message);
  });

  it('does not repeat what may be a password with a question mark in it', () => {
    for (const text of [
      'postgres://u:p?hunter2!@db/t',
      'postgres://db/t?hunter2!=1',
      'postgres://u:p/a?hunter2=b@db/t',
    ])
      expect(() => parsePostgresUrl(text)).toThrow(/^(?!.*hunter2)/s);
  });

  it('has options of one host only for one host', () => {
    expect(() => parsePostgresUrl('postgres://one,two/t?host=three')).toThrow('one host');
  });

  it('is refused with a sentence in which the log hides nothing', () => {
    let line = '';
    const log = createLogger(
      { service: 'test', level: 'info' },
      { write: (text: string) => void (line = text) },
    );
    for (const text of ['mysql://db/tessera', 'postgres://one,,two/t']) {
      try {
        parsePostgresUrl(text);
      } catch (error) {
        log.error(error instanceof Error ? error.message : '');
      }
      expect(line).toContain('expected');
      expect(line).not.toContain('[redacted]');
    }
  });
});

describe('files that a Postgres URL names', () => {
  const made: string[] = [];
  afterAll(() => made.forEach((directory) => rmSync(directory, { recursive: true })));
  const files = (...contents: [string, string | undefined][]): string => {
    const directory = mkdtempSync(join(tmpdir(), 'tessera-postgres-url-'));
    made.push(directory);
    const options = contents.map(([option, content]) => {
      const path = join(directory, option);
      if (content !== undefined) writeFileSync(path, content);
      return `${option}=${path}`;
    });
    return `postgres://db/t?sslmode=verify-full&${options.join('&')}`;
  };

  it.each([
    [
      'that are missing',
      files(['sslrootcert', undefined]),
      'sslrootcert in DATABASE_URL names cannot be read (ENOENT)',
    ],
    ['that are empty', files(['sslrootcert', '']), 'sslrootcert in DATABASE_URL names holds no certificate'],
    [
      'of something else',
      files(['sslrootcert', 'no PEM']),
      'sslrootcert in DATABASE_URL names holds no certificate',
    ],
    ['of a certificate without its key', files(['sslcert', 'x']), 'belong together'],
    ['of no certificate', files(['sslcert', 'x'], ['sslkey', 'x']), 'are no certificate with its key'],
  ])('%s are refused with a sentence that names the option', (_title, url, message) => {
    expect(() => requireFiles(url)).toThrow(message);
  });
});
