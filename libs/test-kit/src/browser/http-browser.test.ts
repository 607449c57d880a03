import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { atEndOfFile } from '../cleanup.ts';
import { createHttpBrowser } from './http-browser.ts';

async function site(
  answer: (request: IncomingMessage, body: string, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => answer(request, body, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEndOfFile(() => new Promise((resolve) => server.close(resolve)));
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

const loginPage = `<!doctype html><form method="post" action="/login?a=1&amp;b=2">
  <input type="hidden" name="csrf" value="x&quot;y"><input name="identifier"><input type=password name=password>
  <input type="checkbox" name="remember" value="yes"><button name="go" value="1">Go</button></form>`;

test('a form is sent with its hidden fields, its origin and the cookies of its page', async () => {
  const seen: {
    url?: string | undefined;
    body?: string;
    origin?: string | undefined;
    cookie?: string | undefined;
  } = {};
  const origin = await site((request, body, response) => {
    if (request.method === 'GET') {
      response.setHeader('set-cookie', ['a=1; Path=/; HttpOnly', 'b=2; Path=/']);
      response.end(loginPage);
      return;
    }
    Object.assign(seen, {
      url: request.url,
      body,
      origin: request.headers.origin,
      cookie: request.headers.cookie,
    });
    response.writeHead(303, { location: '/done' }).end();
  });
  const browser = createHttpBrowser();
  const page = await browser.get(`${origin}/login`);
  const answer = await browser.submit(page, { identifier: 'ada', password: 'p w' }, { having: 'password' });
  expect(seen).toEqual({
    url: '/login?a=1&b=2',
    body: 'csrf=x%22y&identifier=ada&password=p+w',
    origin,
    cookie: 'a=1; b=2',
  });
  expect(answer.status).toBe(303);
  expect(answer.location?.href).toBe(`${origin}/done`);
});

test('redirects are followed only when asked, and only as far as the caller agrees', async () => {
  const origin = await site((request, _body, response) => {
    if (request.url === '/end') response.end('<p>The&nbsp;end</p>');
    else response.writeHead(302, { location: request.url === '/1' ? '/2' : '/end' }).end();
  });
  const browser = createHttpBrowser();
  const first = await browser.get(`${origin}/1`);
  expect(first.status).toBe(302);
  expect((await browser.follow(first, (location) => location.pathname !== '/end')).url.pathname).toBe('/2');
  expect((await browser.follow(first)).text).toBe('The end');
});
