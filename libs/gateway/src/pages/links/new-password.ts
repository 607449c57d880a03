import type { FastifyReply } from 'fastify';
import { OAuthError, type otherPaths } from '@tessera/oauth';
import { dropCookie, readCookie, writeCookie } from '../../http/cookies.ts';
import { fieldsOfForm } from '../form.ts';
import type { PageContext } from '../page-context.ts';
import { type Page, problemSentence, sendPage, sendPageError } from '../send-page.ts';
import type { PasskeyAsked } from '../sign-in/steps/passkey-pages.ts';

/** A form with which a person chooses a password. */
export interface PasswordForm {
  readonly title: string;
  /** With the `name` of the tenant. */
  readonly lead: string;
  readonly leadName: string;
  readonly tenant: NonNullable<Page['tenant']>;
  readonly path: (typeof otherPaths)['password' | 'passwordLink'];
  /** What the anti-forgery field is bound to. */
  readonly purpose: string;
  readonly username: string;
  /** Whether the form asks for the present password too. */
  readonly asksForPresent: boolean;
  /** Further hidden fields. */
  readonly fields: readonly { readonly name: string; readonly value: string }[];
  /** Why the form is shown again, as a sentence or by its error; undefined at first. */
  readonly problem: string | OAuthError | undefined;
  /** Whether the problem is that of the present password. */
  readonly isPresentWrong?: boolean;
  /** What a browser is asked for that makes a passkey in place of the password; absent where it may make none. */
  readonly passkey?: PasskeyAsked | undefined;
}

export function sendPasswordForm(context: PageContext, form: PasswordForm): FastifyReply {
  const { request, reply, gateway } = context;
  const { title, tenant, purpose, fields, problem: why, ...data } = form;
  const problem = why instanceof OAuthError ? problemSentence(why) : why;
  const page: Page = {
    template: 'new-password',
    title,
    message: problem ?? `${form.lead.replace('<b>{name}</b>', form.leadName)}.`,
    formTarget: 'own',
    tenant,
    script: true,
    data: { ...data, problem, fields: fieldsOfForm(context, purpose, fields) },
  };
  return problem === undefined
    ? sendPage(request, reply, gateway, page)
    : sendPageError(
        request,
        reply,
        gateway,
        why instanceof OAuthError ? why : new OAuthError('invalid_request', problem),
        page,
      );
}

/** The password of such a form, typed twice because nobody sees it; with a problem if it was not. */
export function chosenPassword(form: ReadonlyMap<string, string>): {
  readonly password: string;
  readonly problem?: string;
} {
  const password = form.get('new_password') ?? '';
  const repeated = form.get('repeated_password') ?? '';
  if (password === '' || repeated === '') return { password, problem: 'Enter the new password twice.' };
  if (password !== repeated) return { password, problem: 'The two passwords differ.' };
  return { password };
}

/** Lifetime in seconds of the cookie with the result for the next page. */
const resultSeconds = 60;

/** Keeps for the next page that a password was set, or a passkey made in its place. */
export function notePasswordSet(
  { request, reply }: PageContext,
  what: 'password' | 'passkey' = 'password',
): void {
  writeCookie(request, reply, 'passwordSet', what === 'password' ? '1' : what, resultSeconds);
}

/** What the page before this one set, once; undefined if it set nothing. */
export function takePasswordSet({ app, request, reply }: PageContext): 'password' | 'passkey' | undefined {
  const set = readCookie(app, request, 'passwordSet');
  if (set === '') return undefined;
  dropCookie(request, reply, 'passwordSet');
  return set === 'passkey' ? 'passkey' : 'password';
}
