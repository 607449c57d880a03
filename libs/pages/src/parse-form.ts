import { isDecodable, isStorable } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';

/** A request, or a JSON object in it, with more parameters than this is refused. */
export const maxParameters = 64;

function refuse(message: string): never {
  throw new OAuthError('invalid_request', message);
}

/**
 * Adds one parameter; refuses a second of the same name (RFC 6749 §3.1 and §3.2) and text that no store can hold.
 * Libraries send `resource`, of which there may be several (RFC 8707 §2), more than once with the same value: that
 * counts as one.
 */
export function addParameter(parameters: Map<string, string>, name: string, value: string): void {
  if (name === 'resource' && parameters.get(name) === value) return;
  if (parameters.has(name)) refuse('A parameter is given more than once.');
  if (!isStorable(name) || !isStorable(value)) {
    refuse('A parameter holds characters that are not allowed.');
  }
  parameters.set(name, value);
}

/**
 * Reads `application/x-www-form-urlencoded` text, from a body or a query: every name at most once, valid
 * percent-encoding of UTF-8, a bounded number of parameters. Throws `invalid_request`; never repeats what was sent.
 */
export function parseForm(text: string): Map<string, string> {
  if (text.split('&', maxParameters + 1).length > maxParameters) {
    refuse('The request has too many parameters.');
  }
  // `URLSearchParams` keeps broken percent-encoding as it is and replaces invalid UTF-8.
  if (!isDecodable(text)) refuse('The percent-encoding of a parameter is broken.');
  const parameters = new Map<string, string>();
  // `URLSearchParams` drops a question mark at the beginning, which here is part of a name.
  for (const [name, value] of new URLSearchParams(`&${text}`)) addParameter(parameters, name, value);
  return parameters;
}
