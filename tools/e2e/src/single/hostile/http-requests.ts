import fc from 'fast-check';
import { textsLike } from './fuzz.ts';

/** A request as it is sent; header names may repeat. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Every character is a byte. */
  readonly body: string | undefined;
}

type Parameters = readonly (readonly [name: string, value: unknown])[];

/** A valid request. */
export interface Template {
  readonly method: string;
  readonly path: string;
  readonly in: 'query' | 'form' | 'json';
  readonly parameters: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

const mediaTypes = { form: 'application/x-www-form-urlencoded', json: 'application/json' } as const;

const contentTypes = [
  'application/json',
  'application/x-www-form-urlencoded',
  'application/json; charset=utf-16',
  'multipart/form-data; boundary=x',
  'text/plain',
  'application/json, application/x-www-form-urlencoded',
  '',
  ';',
  '*/*',
  'application/' + 'x'.repeat(2_000),
];

/** Requests that deviate from the valid ones in a few places. `known` are values worth trying anywhere. */
export function malformedRequests(
  templates: readonly Template[],
  known: readonly string[],
): fc.Arbitrary<RawRequest> {
  const values = textsLike(known);
  return fc
    .tuple(
      fc.constantFrom(...templates),
      fc.array(parameterChanges(templates, values), { maxLength: 3 }),
      fc.array(headerChanges(values), { maxLength: 3 }),
      bodyChanges,
      methodChanges,
      fc.ipV4(),
    )
    .map(([template, changes, headers, changeBody, method, address]) => {
      const parameters = changes.reduce<Parameters>(
        (all, changed) => changed(all),
        Object.entries(template.parameters),
      );
      const isQuery = template.in === 'query';
      const query = isQuery ? `?${formOf(parameters)}` : '';
      const body = template.in === 'json' ? jsonOf(parameters) : formOf(parameters);
      const type = template.in === 'query' ? {} : { 'content-type': mediaTypes[template.in] };
      const own = Object.entries({ ...type, ...template.headers, 'x-forwarded-for': address });
      const changedNames = new Set(headers.filter(({ replaces }) => replaces).map(({ name }) => name));
      const kept = own.filter(([name]) => !changedNames.has(name));
      return {
        method: method ?? template.method,
        path: sendable(`${template.path}${query}`).replaceAll(/[\s#]/g, ''),
        headers: [...kept, ...headers.map(({ name, value }) => [name, sendable(value)] as const)],
        body: isQuery ? undefined : changeBody(Buffer.from(body)).toString('latin1'),
      };
    });
}

/** Node refuses to send other characters in a header or a path. */
function sendable(text: string): string {
  return text.replaceAll(/[^\t\u0020-\u007e\u0080-\u00ff]/g, '').slice(0, 20_000);
}

function formOf(parameters: Parameters): string {
  return new URLSearchParams(
    parameters.map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  ).toString();
}

/** With its members in order, repeated ones as often as they are given. */
function jsonOf(parameters: Parameters): string {
  return `{${parameters.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`;
}

function parameterChanges(
  templates: readonly Template[],
  values: fc.Arbitrary<string>,
): fc.Arbitrary<(parameters: Parameters) => Parameters> {
  const names = fc.oneof(
    fc.constantFrom(...new Set(templates.flatMap(({ parameters }) => Object.keys(parameters)))),
    values,
  );
  const any: fc.Arbitrary<unknown> = fc.oneof(
    { weight: 4, arbitrary: values },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 6 }) },
    { weight: 1, arbitrary: fc.constantFrom(null, true, 0, -1, [], {}, nested(500)) },
  );
  return fc
    .tuple(fc.constantFrom('set', 'drop', 'repeat', 'add', 'rename', 'many'), fc.nat(), names, any)
    .map(([how, at, name, value]) => (parameters) => {
      const index = at % Math.max(1, parameters.length);
      const chosen = parameters[index];
      if (how === 'add' || chosen === undefined) return [...parameters, [name, value]];
      if (how === 'many')
        return [...parameters, ...Array.from({ length: 70 }, (_, i) => [`p${i}`, 'x'] as const)];
      if (how === 'repeat') return [...parameters, [chosen[0], value]];
      if (how === 'drop') return parameters.toSpliced(index, 1);
      return parameters.with(index, how === 'set' ? [chosen[0], value] : [name, chosen[1]]);
    });
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

interface HeaderChange {
  readonly name: string;
  readonly value: string;
  readonly replaces: boolean;
}

function headerChanges(values: fc.Arbitrary<string>): fc.Arbitrary<HeaderChange> {
  const base64 = values.map((text) => Buffer.from(text).toString('base64'));
  const pairs = fc
    .tuple(values, values)
    .map(([id, secret]) => Buffer.from(`${id}:${secret}`).toString('base64'));
  const of = (name: string, value: fc.Arbitrary<string>) =>
    fc.tuple(value, fc.boolean()).map(([text, replaces]) => ({ name, value: text, replaces }));
  const prefixed = (prefix: string, value: fc.Arbitrary<string>) => value.map((text) => `${prefix}${text}`);
  const cookies = fc
    .array(
      fc.tuple(fc.constantFrom('tessera_session', 'tessera_browser', 'tessera_known_browser', 'x'), values),
      {
        maxLength: 4,
      },
    )
    .map((pairsOf) => pairsOf.map(([name, value]) => `${name}=${value}`).join('; '));
  return fc.oneof(
    of(
      'authorization',
      fc.oneof(prefixed('Basic ', fc.oneof(base64, pairs, values)), prefixed('Bearer ', values), values),
    ),
    of('cookie', fc.oneof(cookies, values)),
    of('content-type', fc.constantFrom(...contentTypes)),
    of(
      'accept',
      fc.constantFrom('text/html', '*/*', 'text/html;q=x', ',,,', 'image/png', 'application/json;q=0'),
    ),
    of('host', fc.constantFrom('evil.example', 'localhost:99999', '[::1', '127.0.0.1:1,evil.example', '')),
    of('content-encoding', fc.constantFrom('gzip', 'br', 'identity', 'x')),
    of('origin', fc.oneof(fc.constantFrom('null', 'https://evil.example'), values)),
    of('sec-fetch-site', fc.constantFrom('cross-site', 'same-origin', 'none', 'x')),
    of('sec-fetch-mode', fc.constantFrom('navigate', 'cors', 'x')),
    of(
      'x-forwarded-for',
      fc.oneof(fc.constantFrom('a', '::1', '1.2.3.4, 5.6.7.8', '999.1.1.1', ','), values),
    ),
    of('x-forwarded-host', fc.oneof(fc.constantFrom('evil.example', 'localhost'), values)),
    of('x-forwarded-proto', fc.constantFrom('https', 'gopher', 'https,http', '')),
    of('traceparent', fc.oneof(fc.constant(`00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`), values)),
    of('user-agent', values),
  );
}

const bodyChanges: fc.Arbitrary<(body: Buffer) => Buffer> = fc.oneof(
  { weight: 8, arbitrary: fc.constant((body: Buffer) => body) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => () => Buffer.from(bytes)) },
  { weight: 1, arbitrary: fc.nat(100).map((left) => (body: Buffer) => body.subarray(0, left)) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('\ufeff', '\u00ff', '\0', '[', '"', '&&=&', '%')
      .map((text) => (body: Buffer) => Buffer.concat([Buffer.from(text, 'latin1'), body])),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('[]', 'null', '1', '"x"', '{}', '{"a":', 'a=%')
      .map((text) => () => Buffer.from(text)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(0, 65_536, 65_537, 70_000).map((size) => () => Buffer.alloc(size, 'a')),
  },
);

const methodChanges = fc.oneof(
  { weight: 12, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constantFrom('GET', 'POST', 'DELETE', 'PUT', 'OPTIONS', 'HEAD', 'PATCH') },
);
