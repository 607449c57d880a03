import type { FastifyInstance, FastifyRequest } from 'fastify';
import { readBody } from '../http/body.ts';
import { readCookie } from '../http/cookies.ts';
import type { Gateway } from '../gateway.ts';

/** Name of the anti-forgery field of every form. */
export const antiForgeryField = 'csrf';

/** The fields of a form sent by a page. Throws `unsupported_media_type` for every other content type. */
export function readForm(request: FastifyRequest): ReadonlyMap<string, string> {
  return readBody(request, ['form']).parameters;
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

/** Throws `access_denied` unless the form is this browser's own, made for `purpose`. */
export function checkForm(
  app: FastifyInstance,
  request: FastifyRequest,
  form: ReadonlyMap<string, string>,
  purpose: string,
  { antiForgery }: Pick<Gateway, 'antiForgery'>,
): void {
  const fetchSite = request.headers['sec-fetch-site'];
  antiForgery.check({
    browserId: readCookie(app, request, 'browser'),
    purpose,
    token: form.get(antiForgeryField) ?? '',
    issuer: request.incoming.issuer(),
    origin: request.headers.origin,
    fetchSite: Array.isArray(fetchSite) ? fetchSite.join(',') : fetchSite,
  });
}

/** Purposes of forms: the anti-forgery field of one form is not valid in another. */
export const purpose = {
  signIn: (interactionId: string) => `login\0${interactionId}`,
  signOut: 'logout',
  /** Not a form: where a browser goes that comes back from a provider. */
  afterProvider: (location: string) => `after-provider\0${location}`,
  /** The form that asks for a user code. */
  enterCode: 'device',
  /** The pages of one user code: a link to them works only in the browser where the code was entered. */
  openCode: (userCode: string) => `device\0${userCode}`,
  /** Signing in before a decision: bound to the user code in a device flow, else to the tenant. */
  signInTo: (what: string) => `sign-in\0${what}`,
  changePassword: (userId: string) => `password\0${userId}`,
  /** A change at `/account`, and what it acts on. */
  changeAccount: (userId: string, change: string, target: string) =>
    `account\0${userId}\0${change}\0${target}`,
  forgottenPassword: (tenantId: string) => `forgotten-password\0${tenantId}`,
  register: (tenantId: string, interactionId: string) => `register\0${tenantId}\0${interactionId}`,
  confirmEmail: (userId: string, link: string) => `email\0${userId}\0${link}`,
  usePasswordLink: (link: string) => `password-link\0${link}`,
  decide: (requestId: string) => `decide\0${requestId}`,
};
