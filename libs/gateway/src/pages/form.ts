import type { FastifyInstance, FastifyRequest } from 'fastify';
import { checkSentForm, formFields, type Field } from '@tessera/pages';
import { readCookie } from '../http/cookies.ts';
import type { PageContext } from './page-context.ts';
import { requireBrowserId } from './signed-in-person.ts';

/** The hidden fields of a form for `purpose`, beginning with the anti-forgery field. */
export function fieldsOfForm(context: PageContext, purpose: string, others: readonly Field[] = []): Field[] {
  return formFields(requireBrowserId(context), purpose, others);
}

/** Throws `access_denied` unless the form is this browser's own, made for `purpose`. */
export function checkForm(
  app: FastifyInstance,
  request: FastifyRequest,
  form: ReadonlyMap<string, string>,
  purpose: string,
): void {
  const browserId = readCookie(app, request, 'browser');
  checkSentForm(request, form, { browserId, purpose, issuer: request.incoming.issuer() });
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
