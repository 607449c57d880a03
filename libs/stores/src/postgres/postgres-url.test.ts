import { createLogger } from '@tessera/telemetry';
import { describe, expect, it } from 'vitest';
import { parsePostgresUrl } from './postgres-url.ts';

describe('a Postgres URL', () => {
  it.each([
    'postgres://db/tessera',
    'postgresql://u:p@db:6432/tessera?sslmode=verify-full',
    'postgres:///tessera?host=/run/postgresql',
  ])('of one host stays as it is: %s', (text) => {
    expect(parsePostgresUrl(text)).toEqual([text]);
  });

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
