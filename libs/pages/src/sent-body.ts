import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { OAuthError, receivedText } from '@tessera/oauth';
import { parseForm } from './parse-form.ts';

/** Bodies above this many bytes are refused. */
export const bodyLimit = 64 * 1024;

export type MediaType = 'json' | 'form';

/** The parameters of a body by their names on the wire. */
export interface SentBody {
  readonly type: MediaType;
  readonly parameters: ReadonlyMap<string, string>;
  /** Every name that was sent, those too that are ignored. */
  readonly names: ReadonlySet<string>;
}

/** What reads the text of each media type that is taken; it adds the names of what it ignores to `ignored`. */
export type Readers = Readonly<
  Partial<Record<MediaType, (text: string, ignored: Set<string>) => Map<string, string>>>
>;

const mediaTypePattern = /^application\/(json|x-www-form-urlencoded)(?: *; *charset=(?:utf-8|"utf-8"))?$/i;

/** Which of the two media types a Content-Type header names, exactly; undefined for everything else. */
export function mediaType(contentType: string | undefined): MediaType | undefined {
  const subtype = contentType === undefined ? undefined : mediaTypePattern.exec(contentType)?.[1];
  if (subtype === undefined) return undefined;
  return subtype.toLowerCase() === 'json' ? 'json' : 'form';
}

/**
 * Reads the body of a request, which must be of a type that `readers` have. Throws `unsupported_media_type` for others,
 * for two Content-Type headers and for compressed bodies; `invalid_request` if the body is missing or cannot be parsed.
 */
export function readSentBody(request: FastifyRequest, readers: Readers): SentBody {
  const { headers } = request;
  const accepted = Object.keys(readers) as MediaType[];
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  if (headers['content-type'] === undefined && bytes.length === 0) refuse('The request has no body.');
  const contentType = headers['content-type'] ?? '';
  const type = mediaType(contentType);
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') throw unsupported('content encoding', encoding, accepted);
  const read = type && readers[type];
  if (type === undefined || read === undefined) throw unsupported('content type', contentType, accepted);
  if (count(request.raw, 'content-type') > 1) throw unsupported('second content type', '', accepted);
  const text = decode(bytes);
  const ignored = new Set<string>();
  const parameters = read(text, ignored);
  return { type, parameters, names: new Set([...parameters.keys(), ...ignored]) };
}

/** The fields of a form sent by a page. Throws `unsupported_media_type` for every other content type. */
export function readForm(request: FastifyRequest): ReadonlyMap<string, string> {
  return readSentBody(request, { form: parseForm }).parameters;
}

function decode(bytes: Buffer): string {
  if (bytes.length === 0) refuse('The request has no body.');
  if (!isUtf8(bytes) || (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)) {
    refuse('The body must be UTF-8 without a byte order mark.');
  }
  return bytes.toString('utf8');
}

function refuse(message: string): never {
  throw new OAuthError('invalid_request', message);
}

const mediaTypeNames: Readonly<Record<MediaType, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
};

/**
 * What is repeated of a header: the characters of media types and their parameters (RFC 9110 §8.3.1), which need no
 * escape in JSON.
 */
const showable = /^[\w!#$&^.+*/;= -]{1,100}$/;

/** Names what came, and what the endpoint takes. */
function unsupported(what: string, came: string, accepted: readonly MediaType[]): OAuthError {
  const shown = showable.test(came) ? ` ${came}` : '';
  const taken = accepted.map((type) => mediaTypeNames[type]).join(' or ');
  return new OAuthError(
    'unsupported_media_type',
    `The ${what}${shown} is not supported. This endpoint takes ${taken}, in UTF-8 and uncompressed.`,
    { refusal: { phase: what, received: receivedText(came) } },
  );
}

/** How often a request has a header. Node keeps one of several; a proxy may have read another one. */
export function count(request: IncomingMessage, name: string): number {
  return request.rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length;
}
