import { describe, expect, it } from 'vitest';
import { pageRequest, pageToken } from './page-token.ts';

const asked =
  (token: string, search = '') =>
  () =>
    pageRequest({ pageSize: 10, pageToken: token, search });
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('the token of a page', () => {
  it('continues after the record that it names, in the same search', () => {
    const token = pageToken('ada', { search: 'a' });
    expect(asked(token, 'a')()).toEqual({ after: 'ada', search: 'a', size: 10 });
    expect(asked(token, 'b')).toThrow();
  });

  it.each([
    ['text', 'not a token'],
    ['a number', encoded(1)],
    ['one part', encoded(['ada'])],
    ['a part that is no text', encoded(['ada', 1])],
    ['NUL, which Postgres refuses in texts', encoded(['a\0da', ''])],
  ])('is refused if it holds %s', (_, token) => {
    expect(asked(token)).toThrow();
  });
});
