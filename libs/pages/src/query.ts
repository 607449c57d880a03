import type { FastifyRequest } from 'fastify';
import { parseForm } from './parse-form.ts';

/** The query of a request as it was sent, without the question mark. */
export function rawQuery(request: FastifyRequest): string {
  const url = request.raw.url ?? '';
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start + 1);
}

/** The parameters of the query. Throws `invalid_request`, for a repeated one too. */
export function readQuery(request: FastifyRequest): ReadonlyMap<string, string> {
  return parseForm(rawQuery(request));
}
