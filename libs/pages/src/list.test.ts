import { describe, expect, it } from 'vitest';
import { loadLanguages } from '@tessera/languages';
import { fileURLToPath } from 'node:url';
import { listAddresses, readListRequest, type List } from './list.ts';
import { loadTemplates } from './templates.ts';
import { hostileTexts } from './testing/hostile-texts.ts';

const filters = { status: ['locked', 'invited'] };
const labels = { status: { locked: 'Locked', invited: 'Invited' } };
const request = (query: string) =>
  readListRequest(new URLSearchParams(query) as ReadonlyMap<string, string>, filters);

describe('the addresses of a list', () => {
  it('keep search and filter on the next page', () => {
    const { next, first } = listAddresses('/people', request('q=ada&status=locked'), 'token-2', labels);
    expect(next).toBe('/people?q=ada&status=locked&page=token-2');
    expect(first).toBeUndefined();
  });

  it('begin at the first page with another filter, and lead back to it from every other page', () => {
    const {
      first,
      filters: chips,
      carried,
    } = listAddresses('/people', request('q=ada&status=locked&page=t'), '', labels);
    expect(first).toBe('/people?q=ada&status=locked');
    expect(chips).toEqual([
      { label: 'Locked', isOn: true, href: '/people?q=ada' },
      { label: 'Invited', isOn: false, href: '/people?q=ada&status=invited' },
    ]);
    expect(carried).toEqual([{ name: 'status', value: 'locked' }]);
  });

  it('have no filter with a value that it does not have', () => {
    expect(request('status=%3Cb%3E&q=+ada+')).toEqual({
      search: 'ada',
      pageToken: '',
      filters: { status: '' },
    });
  });
});

describe('a list', () => {
  const views = fileURLToPath(new URL('../views/', import.meta.url));
  const templates = loadTemplates(views);
  const shown = (value: string, more: Partial<List> = {}) => {
    const list: List = {
      caption: 'People',
      columns: ['Name', 'Last sign-in'],
      rows: [[{ text: value, href: `/people/${encodeURIComponent(value)}` }, { time: 1_780_000_000_000 }]],
      empty: 'Invite the first person.',
      search: { path: '/people', label: 'Search', value },
      carried: [{ name: 'status', value }],
      filters: [{ label: 'Locked', href: '/people?status=locked', isOn: true }],
      next: '/people?page=t',
      ...more,
    };
    return templates.render('list', { base: '/x', list }, loadLanguages().of('en'));
  };
  const tags = (html: string) => html.match(/<[a-z!/%][^\s>]*/gi)?.join();

  it.each(hostileTexts)('shows %j only encoded (security case XSS-1)', (text) => {
    expect(tags(shown(text))).toBe(tags(shown('plain')));
  });

  it('is a table with headings, times that scripts can read, a search, and the way on', () => {
    const html = shown('Ada');
    expect(html).toContain('<th scope="col">Name</th>');
    expect(html).toContain('<time class="ago" datetime="2026-05-28T20:26:40.000Z">');
    expect(html).toContain('<a rel="next" href="/x/people?page=t">Next page</a>');
    expect(html).toContain('<label for="q">');
    expect(html).toContain('aria-current="true"');
  });

  it('has a column of what may be done only for who may do it, and leads nobody to what they may not see', () => {
    const list: List = {
      caption: 'People',
      columns: ['Name', 'End'],
      rows: [
        [
          { text: 'Ada', href: '/ada' },
          { sentence: 'Sign out', href: '/ada/end', isAct: true },
        ],
      ],
      empty: '',
      carried: [],
      filters: [],
    };
    const shownTo = (opens: boolean, offers: boolean) =>
      templates.render(
        'list',
        { base: '/x', list, opens: () => opens, offers: () => offers },
        loadLanguages().of('en'),
      );
    expect(shownTo(true, true)).toMatch(/End[^]*href="\/x\/ada"[^]*href="\/x\/ada\/end"/);
    expect(shownTo(true, false)).toContain('href="/x/ada"');
    expect(shownTo(true, false)).not.toMatch(/End|Sign out/);
    expect(shownTo(false, false)).toContain('<bdi>Ada</bdi>');
    expect(shownTo(false, false)).not.toContain('href=');
  });

  it('says what to do where it is empty', () => {
    const html = shown('Ada', { rows: [] });
    expect(html).toContain('Invite the first person.');
    expect(html).not.toContain('<table>');
  });
});
