import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadLanguages } from '@tessera/languages';
import { loadTemplates } from './templates.ts';

const folder = `${mkdtempSync(join(tmpdir(), 'tessera-views-'))}/`;
const template = `<% layout('kit/layout') %>
<h1><%= it.t(it.title) %></h1>
<form method="post" action="<%= it.base %>/colors"><%~ include('kit/fields', it) %></form>
<script src="<%= it.base %><%= it.asset('own.js') %>" defer></script>
`;
writeFileSync(join(folder, 'colors.eta'), template);
writeFileSync(join(folder, 'broken.eta'), "<%= it.asset('none.js') %>");
writeFileSync(join(folder, 'own.js'), 'export {};\n');
writeFileSync(join(folder, 'secrets.txt'), 'x');
const templates = loadTemplates(folder);
const render = (name: string, data: object = {}) =>
  templates.render(name, { base: '', title: 'Colors', fields: [], ...data }, loadLanguages().of('en'));

it('shows a page of the host in the frame that all pages share', () => {
  const html = render('colors', { fields: [{ name: 'csrf', value: '"x"' }] });
  expect(html).toContain('<html lang="en" dir="ltr"');
  expect(html).toContain('<input type="hidden" name="csrf" value="&quot;x&quot;">');
  expect(html).toMatch(/<script src="\/assets\/own\.js\?v=[\w-]{12}" defer>/);
  expect(html).not.toMatch(/<style|style=|<script>/);
  expect(html).not.toContain('<nav');
});

it('shows the pages beside it, and which one is here', () => {
  const html = render('colors', {
    base: '/t/acme',
    navigation: [
      { path: '/colors', label: 'Colors', isHere: true },
      { path: '/about', label: 'About', isHere: false },
    ],
  });
  expect(html).toContain('<li><a href="/t/acme/colors" aria-current="page">Colors</a></li>');
  expect(html).toContain('<li><a href="/t/acme/about">About</a></li>');
});

it('serves the files of templates and nothing else of their folders', () => {
  const files = templates.assets.map(({ path }) => path);
  expect(files).toEqual(
    expect.arrayContaining(['/assets/own.js', '/assets/tessera.css', '/assets/tessera.svg']),
  );
  expect(files.filter((path) => !/\.(?:css|js|svg)$/.test(path))).toEqual([]);
});

it('fails for a file that is not there, rather than show a page without it', () => {
  expect(() => render('broken')).toThrow('no file none.js');
});
