import fastifyAccepts from '@fastify/accepts';
import fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wantsHtml } from './page.ts';

const app = fastify();

beforeAll(async () => {
  await app.register(fastifyAccepts);
  app.get('/', (request) => wantsHtml(request));
});

afterAll(() => app.close());

async function answersHtml(headers: Record<string, string>): Promise<boolean> {
  return (await app.inject({ url: '/', headers })).json<boolean>();
}

describe('wantsHtml', () => {
  it.each([
    'text/html',
    'text/html,*/*;q=0.8',
    'TEXT/HTML;q=0.9, application/json;q=0.5',
    'text/html, application/json',
  ])('treats the sender of Accept: %s as a browser', async (accept) =>
    expect(await answersHtml({ accept })).toBe(true),
  );

  it.each([
    {},
    { accept: '*/*' },
    { accept: 'application/json' },
    { accept: 'application/json, text/html;q=0.1' },
    { accept: 'text/html;q=0' },
    { accept: 'text/htmlx' },
    { accept: 'nonsense' },
  ])('gives JSON to the sender of %o (RFC 9110 section 12.5.1)', async (headers) =>
    expect(await answersHtml(headers)).toBe(false),
  );

  it('gives HTML to a browser that opens a page and takes anything', async () =>
    expect(await answersHtml({ accept: '*/*', 'sec-fetch-mode': 'navigate' })).toBe(true));

  it('returns JSON to a script that sends Accept: */*', async () =>
    expect(await answersHtml({ accept: '*/*', 'sec-fetch-mode': 'cors' })).toBe(false));

  it('gives JSON to a browser that asks for JSON alone', async () =>
    expect(await answersHtml({ accept: 'application/json', 'sec-fetch-mode': 'navigate' })).toBe(false));
});
