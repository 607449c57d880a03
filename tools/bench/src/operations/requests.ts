import type { Client } from '../declared-state.ts';
import type { HttpAnswer, HttpLoad, HttpRequest } from './operation.ts';

type Parameters = Readonly<Record<string, string>>;

export function json(path: string, body: Parameters): HttpRequest {
  return {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}

export function form(path: string, body: Parameters, headers: Parameters = {}): HttpRequest {
  return {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(body).toString(),
  };
}

/** A form with `Authorization: Basic` (RFC 6749 §2.3.1), of credentials that need no encoding. */
export function clientForm(path: string, { clientId, clientSecret }: Client, body: Parameters): HttpRequest {
  const credentials = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
  return form(path, body, { authorization: `Basic ${credentials}` });
}

export function get(path: string, headers: Parameters = {}): HttpRequest {
  return { method: 'GET', path, headers };
}

/** The same requests, repeated. */
export function cycle(requests: readonly HttpRequest[], accept: (answer: HttpAnswer) => boolean): HttpLoad {
  return { kind: 'http', next: turns(requests), accept };
}

/** The items in turn, starting over after the last. */
export function turns<T>(items: readonly T[]): () => T {
  let position = 0;
  return () => {
    const item = items[position % items.length];
    position += 1;
    if (item === undefined) throw new Error('there is nothing to send');
    return item;
  };
}

export const isOk = ({ status }: HttpAnswer): boolean => status === 200;

/** A response with status 200 whose body contains every one of `parts`. */
export function okWith(...parts: readonly string[]): (answer: HttpAnswer) => boolean {
  return ({ status, text }) => status === 200 && parts.every((part) => text.includes(part));
}

/** A redirect to the client with a code. */
export const bringsCode = ({ status, headers }: HttpAnswer): boolean =>
  (status === 302 || status === 303) && String(headers['location']).includes('code=');

/** A member of a JSON response, or of `data` in the contract's envelope. */
export function member(answer: HttpAnswer, name: string): string {
  const body = JSON.parse(answer.text) as Record<string, unknown>;
  const inside = (body['data'] ?? body) as Record<string, unknown>;
  const value = inside[name];
  if (answer.status !== 200 || typeof value !== 'string') {
    throw new Error(`no ${name} in an answer with status ${answer.status}`);
  }
  return value;
}
