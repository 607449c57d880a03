import { expect, test } from 'vitest';
import { parseForms } from './html.ts';

const page = new URL('https://id.example/login?tenant=acme');

test('a form has what a browser would send: hidden, prefilled and checked controls, with entities decoded', () => {
  const [form] = parseForms(
    `<!doctype html><form method="post" action="/login?a=1&amp;b=2">
      <input type="hidden" name="csrf" value="x&quot;y"><input name="identifier"><input type=password name=password>
      <input type="checkbox" name="remember" value="yes"><input type="radio" name="choice" value="a" checked>
      <select name="language"><option value="en">English</option><option value="sv" selected>Svenska</option></select>
      <textarea name="note">a &lt; b</textarea><input name="off" value="1" disabled>
      <button name="go" value="1">Go</button></form>`,
    page,
  );
  expect(form?.action.href).toBe('https://id.example/login?a=1&b=2');
  expect(form?.method).toBe('POST');
  expect(Object.fromEntries(form?.fields ?? [])).toEqual({
    csrf: 'x"y',
    identifier: '',
    password: '',
    choice: 'a',
    language: 'sv',
    note: 'a < b',
  });
  expect(form?.names).toEqual([
    'csrf',
    'identifier',
    'password',
    'remember',
    'choice',
    'language',
    'note',
    'go',
  ]);
});

test('a form without action and method is sent by GET to its page, and every form of the page is found', () => {
  const forms = parseForms('<form><input name="a" value="1"></form><form method="POST"></form>', page);
  expect(forms.map(({ action, method }) => [action.href, method])).toEqual([
    [page.href, 'GET'],
    [page.href, 'POST'],
  ]);
});
