import type { FastifyRequest } from 'fastify';
import { antiForgery } from './anti-forgery.ts';

/** A hidden field of a form; the template `kit/fields` writes them. */
export interface Field {
  readonly name: string;
  readonly value: string;
}

/** Name of the anti-forgery field of every form. */
export const antiForgeryField = 'csrf';

/** The fields of a form for `purpose`: its anti-forgery field, then the others. */
export function formFields(browserId: string, purpose: string, others: readonly Field[] = []): Field[] {
  return [{ name: antiForgeryField, value: antiForgery.token(browserId, purpose) }, ...others];
}

/** Throws `access_denied` unless the form is this browser's own, made for `purpose`, and sent from a page of ours. */
export function checkSentForm(
  request: FastifyRequest,
  form: ReadonlyMap<string, string>,
  { browserId, purpose, issuer }: { browserId: string; purpose: string; issuer: string },
): void {
  const fetchSite = request.headers['sec-fetch-site'];
  antiForgery.check({
    browserId,
    purpose,
    token: form.get(antiForgeryField) ?? '',
    issuer,
    origin: request.headers.origin,
    fetchSite: Array.isArray(fetchSite) ? fetchSite.join(',') : fetchSite,
  });
}

/** Longest text of a request that a page shows again: the longest name of a person. */
export const longestShown = 512;

/**
 * A parameter that the page shows again; '' if it is absent or too long to be valid, so that no request makes a large
 * page.
 */
export function shownParameter(parameters: ReadonlyMap<string, string>, name: string): string {
  const value = parameters.get(name) ?? '';
  return value.length > longestShown ? '' : value;
}
