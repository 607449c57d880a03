import { describe, expect, it } from 'vitest';
import { mediaType, parseBody } from './body.ts';

describe('mediaType', () => {
  it.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json;charset=utf-8',
    'application/json; charset=UTF-8',
    'application/json;charset="utf-8"',
    'Application/Json ; Charset=Utf-8',
  ])('takes %j as JSON', (header) => {
    expect(mediaType(header)).toBe('json');
  });

  it.each(['application/x-www-form-urlencoded', 'application/x-www-form-urlencoded; charset=utf-8'])(
    'takes %j as a form',
    (header) => {
      expect(mediaType(header)).toBe('form');
    },
  );

  it.each([
    undefined,
    '',
    'application/jsonX',
    'application/json garbage',
    'application/json;;',
    'application/json;',
    'application/json\t',
    ' application/json',
    'application/json,application/json',
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    'application/json; charset=utf-8; charset=utf-16',
    'application/json; boundary=x',
    'application/ld+json',
    'text/json',
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencodedx',
  ])('takes %j as nothing', (header) => {
    expect(mediaType(header)).toBeUndefined();
  });
});

describe('parseBody', () => {
  it.each([
    ['nothing', undefined],
    ['an empty body', Buffer.alloc(0)],
    ['invalid UTF-8', Buffer.from([0x61, 0x3d, 0xff])],
    ['a byte order mark', Buffer.from('\ufeffa=1')],
    ['UTF-16', Buffer.from('{"a":"b"}', 'utf16le')],
  ])('refuses %s', (_what, body) => {
    for (const type of ['json', 'form'] as const) expect(() => parseBody(type, body)).toThrow();
  });

  it('does not read the one as the other', () => {
    expect(() => parseBody('json', Buffer.from('grant_type=client_credentials'))).toThrow();
    expect(parseBody('form', Buffer.from('{"grant_type":"client_credentials"}')).has('grant_type')).toBe(
      false,
    );
  });
});
