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

export function get(path: string, headers: Parameters = {}): HttpRequest {
  return { method: 'GET', path, headers };
}

/** The same requests, repeated. */
export function cycle(requests: readonly HttpRequest[], accept: (answer: HttpAnswer) => boolean): HttpLoad {
  const next = turns(requests);
  return { kind: 'http', next, accept };
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

/** Each item once; throws if none is left. */
export function once<T>(items: readonly T[]): () => T {
  let position = 0;
  return () => {
    const item = items[position];
    position += 1;
    if (item === undefined) throw new Error('everything that was prepared is used');
    return item;
  };
}

export const isOk = ({ status }: HttpAnswer): boolean => status === 200;

/** A response with status 200 whose body contains `part`. */
export function okWith(part: string): (answer: HttpAnswer) => boolean {
  return ({ status, text }) => status === 200 && text.includes(part);
}

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

/** A parameter of the URL that a response redirects to. */
export function redirectParameter(answer: HttpAnswer, name: string): string {
  const location = answer.headers['location'];
  const value = typeof location === 'string' ? new URL(location, 'http://here').searchParams.get(name) : null;
  if (value === null) throw new Error(`no ${name} in the redirect of an answer with status ${answer.status}`);
  return value;
}
