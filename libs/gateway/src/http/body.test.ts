import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { mediaType, type MediaType } from '@tessera/pages';
import { readBody } from './body.ts';

const both: readonly MediaType[] = ['json', 'form'];

const contentTypes: Readonly<Record<MediaType, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
};

function requestWith(type: MediaType, body: unknown, headers: Record<string, string> = {}): FastifyRequest {
  const all = { 'content-type': contentTypes[type], ...headers };
  return { headers: all, body, raw: { rawHeaders: Object.entries(all).flat() } } as unknown as FastifyRequest;
}

describe('mediaType', () => {
  it.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json;charset=utf-8',
    'application/json; charset=UTF-8',
    'application/json;charset="utf-8"',
    'Application/Json ; Charset=Utf-8',
  ])('recognizes %j as JSON', (header) => {
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
  ])('does not recognize %j', (header) => {
    expect(mediaType(header)).toBeUndefined();
  });
});

describe('readBody', () => {
  it.each([
    ['nothing', undefined],
    ['an empty body', Buffer.alloc(0)],
    ['invalid UTF-8', Buffer.from([0x61, 0x3d, 0xff])],
    ['a byte order mark', Buffer.from('\ufeffa=1')],
    ['UTF-16', Buffer.from('{"a":"b"}', 'utf16le')],
  ])('refuses %s', (_what, body) => {
    for (const type of both) {
      expect(() => readBody(requestWith(type, body), both)).toThrow(
        expect.objectContaining({ code: 'invalid_request' }),
      );
    }
  });

  it('parses each type by its own rules', () => {
    const form = Buffer.from('grant_type=client_credentials');
    expect(() => readBody(requestWith('json', form), both)).toThrow(/not valid JSON/);
    const json = Buffer.from('{"grantType":"client_credentials"}');
    expect(readBody(requestWith('json', json), both)).toEqual({
      type: 'json',
      parameters: new Map([['grantType', 'client_credentials']]),
      names: new Set(['grantType']),
    });
    expect(readBody(requestWith('form', json), both).parameters.has('grantType')).toBe(false);
  });

  it.each([
    ['text/plain', {}, 'The content type text/plain is not supported.'],
    [
      'application/json; charset=latin1',
      {},
      'The content type application/json; charset=latin1 is not supported.',
    ],
    ['text/\u001b[31m', {}, 'The content type is not supported.'],
    [`text/${'x'.repeat(5000)}`, {}, 'The content type is not supported.'],
    ['application/json', { 'content-encoding': 'gzip' }, 'The content encoding gzip is not supported.'],
  ])('names the content type %s that came, and those that are taken', (contentType, headers, sentence) => {
    const request = requestWith('json', Buffer.from('{}'), { 'content-type': contentType, ...headers });
    const taken =
      'This endpoint takes application/json or application/x-www-form-urlencoded, in UTF-8 and uncompressed.';
    expect(() => readBody(request, both)).toThrow(`${sentence} ${taken}`);
    expect(() => readBody(request, ['form'])).toThrow(
      'This endpoint takes application/x-www-form-urlencoded, in UTF-8 and uncompressed.',
    );
  });

  it('refuses compression and a type that the endpoint does not accept', () => {
    const unsupported = expect.objectContaining({ code: 'unsupported_media_type' }) as Error;
    const body = Buffer.from('{}');
    expect(() => readBody(requestWith('json', body), ['form'])).toThrow(unsupported);
    expect(() => readBody(requestWith('json', body, { 'content-encoding': 'gzip' }), both)).toThrow(
      unsupported,
    );
    expect(readBody(requestWith('json', body, { 'content-encoding': 'Identity' }), both).type).toBe('json');
  });
});
