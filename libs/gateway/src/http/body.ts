import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { OAuthError } from '@tessera/oauth';
import { contractNames, contractNotes } from '../dialects/contract.ts';
import { parseForm, parseJson } from './parameters.ts';

/** Bodies above this many bytes are refused. */
export const bodyLimit = 64 * 1024;

export type MediaType = 'json' | 'form';

const accepted = /^application\/(json|x-www-form-urlencoded)(?: *; *charset=(?:utf-8|"utf-8"))?$/i;

/** Which of the two media types a Content-Type header names, exactly; undefined for everything else. */
export function mediaType(contentType: string | undefined): MediaType | undefined {
  const subtype = contentType === undefined ? undefined : accepted.exec(contentType)?.[1];
  if (subtype === undefined) return undefined;
  return subtype.toLowerCase() === 'json' ? 'json' : 'form';
}

export const unsupportedMediaType = () =>
  new OAuthError(
    'unsupported_media_type',
    'The content type must be application/json or application/x-www-form-urlencoded in UTF-8, where the endpoint takes it.',
  );

/**
 * The media type of a request with a body. Throws `unsupported_media_type` for all but the two, for two Content-Type headers and
 * for compressed bodies; `invalid_request` when there is no body at all, as when it was lost on the way.
 */
export function requireMediaType(request: IncomingMessage, body: unknown): MediaType {
  const type = mediaType(request.headers['content-type']);
  const encoding = request.headers['content-encoding'];
  if (type === undefined && request.headers['content-type'] === undefined && isEmpty(body)) {
    throw new OAuthError('invalid_request', 'The request has no body.');
  }
  if (type === undefined || (encoding !== undefined && encoding.toLowerCase() !== 'identity')) {
    throw unsupportedMediaType();
  }
  if (count(request, 'content-type') > 1) throw unsupportedMediaType();
  return type;
}

/** Node keeps the first of a repeated header; two that differ mean that somebody on the way read the other one. */
export function count(request: IncomingMessage, name: string): number {
  let found = 0;
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const given = request.rawHeaders[index];
    if (given?.length === name.length && given.toLowerCase() === name) found += 1;
  }
  return found;
}

function isEmpty(body: unknown): boolean {
  return !Buffer.isBuffer(body) || body.length === 0;
}

/** The parameters of a body as it was received. Throws `invalid_request`. */
export function parseBody(type: MediaType, body: unknown): Map<string, string> {
  if (!Buffer.isBuffer(body) || body.length === 0)
    throw new OAuthError('invalid_request', 'The request has no body.');
  if (!isUtf8(body) || (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf)) {
    throw new OAuthError('invalid_request', 'The body must be UTF-8 without a byte order mark.');
  }
  const text = body.toString('utf8');
  return type === 'json' ? parseJson(text, contractNames, contractNotes) : parseForm(text);
}
