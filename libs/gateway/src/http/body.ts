import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { OAuthError, receivedText } from '@tessera/oauth';
import { contractNotes } from '../dialects/contract.ts';
import { contractNames } from '../dialects/parameter-names.ts';
import { parseForm, parseJson } from './parameters.ts';

/** Bodies above this many bytes are refused. */
export const bodyLimit = 64 * 1024;

export type MediaType = 'json' | 'form';

/** The parameters of a body by their names on the wire. */
export interface Body {
  readonly type: MediaType;
  readonly parameters: ReadonlyMap<string, string>;
  /** Every name that was sent, those too that are ignored. */
  readonly names: ReadonlySet<string>;
}

/** The members that a body of the contract may have. */
const contractMembers: ReadonlySet<string> = new Set(contractNames.values());

const mediaTypePattern = /^application\/(json|x-www-form-urlencoded)(?: *; *charset=(?:utf-8|"utf-8"))?$/i;

/** Which of the two media types a Content-Type header names, exactly; undefined for everything else. */
export function mediaType(contentType: string | undefined): MediaType | undefined {
  const subtype = contentType === undefined ? undefined : mediaTypePattern.exec(contentType)?.[1];
  if (subtype === undefined) return undefined;
  return subtype.toLowerCase() === 'json' ? 'json' : 'form';
}

/**
 * Reads the body of a request, which must be of an `accepted` type. Throws `unsupported_media_type` for every other
 * type, for two Content-Type headers and for compressed bodies; `invalid_request` if the body is missing or cannot be
 * parsed.
 */
export function readBody(request: FastifyRequest, accepted: readonly MediaType[]): Body {
  const { headers } = request;
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  if (headers['content-type'] === undefined && bytes.length === 0) refuse('The request has no body.');
  const contentType = headers['content-type'] ?? '';
  const type = mediaType(contentType);
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') throw unsupported('content encoding', encoding, accepted);
  if (type === undefined || !accepted.includes(type))
    throw unsupported('content type', contentType, accepted);
  if (count(request.raw, 'content-type') > 1) throw unsupported('second content type', '', accepted);
  const text = decode(bytes);
  const ignored = new Set<string>();
  const parameters =
    type === 'json' ? parseJson(text, contractMembers, contractNotes, ignored) : parseForm(text);
  return { type, parameters, names: new Set([...parameters.keys(), ...ignored]) };
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
