import { describe, expect, it } from 'vitest';
import { pageOf, pageRequest, pageToken, readPages } from './page-token.ts';

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

describe('a page', () => {
  it('leaves out the record that only says that another page follows', () => {
    expect(pageOf(['a', 'b', 'c'], { size: 2 })).toEqual({ page: ['a', 'b'], last: 'b' });
    expect(pageOf(['a', 'b'], { size: 2 })).toEqual({ page: ['a', 'b'], last: undefined });
    expect(pageOf([], { size: 2 })).toEqual({ page: [], last: undefined });
  });
});

describe('reading page after page', () => {
  const all = Array.from({ length: 2_500 }, (_, index) => index);
  const sizes: number[] = [];
  const read = async ({ pageSize, pageToken: token }: { pageSize: number; pageToken: string }) => {
    sizes.push(pageSize);
    const { page, last } = pageOf(all.slice(Number(token)), { size: pageSize });
    return { found: page, nextPageToken: last === undefined ? '' : String(last + 1) };
  };

  it('ends with the last record, or with as many as are wanted, and says which', async () => {
    expect(await readPages(read)).toEqual({ found: all, isComplete: true });
    expect(sizes.splice(0)).toEqual([1000, 1000, 1000]);
    expect(await readPages(read, 1_200)).toEqual({ found: all.slice(0, 1_200), isComplete: false });
    expect(sizes.splice(0)).toEqual([1000, 200]);
    expect(await readPages(read, 2_500)).toEqual({ found: all, isComplete: true });
  });

  it('goes on after a page without any, as a search has', async () => {
    const pages = [
      { found: [], nextPageToken: 'x' },
      { found: ['ada'], nextPageToken: '' },
    ];
    expect(await readPages(async () => pages.shift() ?? { found: [], nextPageToken: '' })).toEqual({
      found: ['ada'],
      isComplete: true,
    });
  });
});
