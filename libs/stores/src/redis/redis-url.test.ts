import { createLogger } from '@tessera/telemetry';
import { describe, expect, it } from 'vitest';
import { parseRedisUrl } from './redis-url.ts';

const target = {
  shape: 'single',
  tls: false,
  addresses: [{ host: 'redis', port: 6379 }],
  username: undefined,
  password: undefined,
  database: 0,
  masterName: '',
};

describe('a Redis URL', () => {
  it.each([
    ['redis://redis', target],
    ['redis://redis:6380/3', { ...target, addresses: [{ host: 'redis', port: 6380 }], database: 3 }],
    ['rediss://:p%40ss%2F@redis/', { ...target, tls: true, password: 'p@ss/' }],
    ['redis://app:a:b@redis', { ...target, username: 'app', password: 'a:b' }],
    ['redis://[::1]:6380', { ...target, addresses: [{ host: '::1', port: 6380 }] }],
    [
      'rediss+sentinel://app:pw@s1,s2:26380/main/2',
      {
        shape: 'sentinel',
        tls: true,
        addresses: [
          { host: 's1', port: 26_379 },
          { host: 's2', port: 26_380 },
        ],
        username: 'app',
        password: 'pw',
        database: 2,
        masterName: 'main',
      },
    ],
    [
      'redis+cluster://10.0.0.1:7000,10.0.0.2',
      {
        ...target,
        shape: 'cluster',
        addresses: [
          { host: '10.0.0.1', port: 7000 },
          { host: '10.0.0.2', port: 6379 },
        ],
      },
    ],
  ])('%s is read', (text, expected) => {
    expect(parseRedisUrl(text)).toEqual(expected);
  });

  it.each([
    ['http://redis', 'expected redis://'],
    ['redis://', 'expected redis://'],
    ['redis://one,two', 'expected redis://'],
    ['redis://redis:70000', 'expected redis://'],
    ['redis://redis/zero', 'expected redis://'],
    ['redis://redis?db=1', 'the option db is not known: a Redis URL has none'],
    [
      'redis://redis:6379/0?tls=true',
      'the option tls is not known: a Redis URL has none; for TLS write rediss://',
    ],
    ['redis://:100%@redis', '%25'],
    ['redis+sentinel://s1:26379', 'the master-name is missing'],
    ['redis+sentinel://s1:26379/main/2/3', 'expected redis+sentinel://'],
    ['redis+cluster://one:6379/1', 'no other database'],
    ['redis+cluster://one:6379,,two:6379', 'expected redis+cluster://'],
  ])('%s is refused with a sentence', (text, message) => {
    expect(() => parseRedisUrl(text)).toThrow(message);
  });

  it('that is refused is not repeated, as it may hold a password', () => {
    for (const text of [
      'redis://:hunter2@redis:99999',
      'rediss://:hunter2%@redis',
      'x://:hunter2@redis',
      'redis://:p/a?hunter2@redis',
    ])
      expect(() => parseRedisUrl(text)).toThrow(/^(?!.*hunter2)/s);
  });

  it('is refused with a sentence in which the log hides nothing', () => {
    let line = '';
    const log = createLogger(
      { service: 'test', level: 'info' },
      { write: (text: string) => void (line = text) },
    );
    for (const text of [
      'http://redis',
      'redis://one,two',
      'redis+sentinel://s1',
      'redis+cluster://one:1,,two',
    ]) {
      try {
        parseRedisUrl(text);
      } catch (error) {
        log.error(error instanceof Error ? error.message : '');
      }
      expect(line).toContain('expected');
      expect(line).not.toContain('[redacted]');
    }
  });
});
