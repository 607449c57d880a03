import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { wantsHtml } from './page.ts';

const asking = (accept: string | undefined): FastifyRequest =>
  ({ headers: accept === undefined ? {} : { accept } }) as FastifyRequest;

describe('wantsHtml', () => {
  it.each([
    'text/html',
    'text/html,*/*;q=0.8',
    'TEXT/HTML;q=0.9, application/json;q=0.5',
    'text/html, application/json',
  ])('treats the sender of Accept: %s as a browser', (accept) =>
    expect(wantsHtml(asking(accept))).toBe(true),
  );

  it.each([
    undefined,
    '*/*',
    'application/json',
    'application/json, text/html;q=0.1',
    'text/html;q=0',
    'text/htmlx',
  ])('gives JSON to the sender of Accept: %s (RFC 9110 section 12.5.1)', (accept) =>
    expect(wantsHtml(asking(accept))).toBe(false),
  );
});
