import type { FastifyReply } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import { browserContext } from './browser.ts';
import { antiForgeryField, longestShown, purpose } from './form.ts';
import type { PageContext } from './page-context.ts';
import { sendMismatch } from './mismatch.ts';
import { requireBrowserId, servesTenant, wrongCredentials, type Person } from './person.ts';
import { sendPage, sendPageError, type Page } from './page.ts';
import { giveSession } from './session.ts';

/** A sign-in without an authorization request, on the way to a page of ours. */
export interface DirectSignIn {
  /** Where the form is sent. */
  readonly path: '/device' | '/approvals';
  readonly tenantId: string;
  /** The purpose of the sign-in, as the end of a sentence. */
  readonly lead: string;
  /** What the form's anti-forgery field is bound to. */
  readonly subject: string;
  /** Hidden fields beside it. */
  readonly fields: readonly { readonly name: string; readonly value: string }[];
}

/** Says that the browser is signed in to another tenant, and offers to sign out and continue. */
export function sendElsewhere(context: PageContext, { path, tenantId, fields }: DirectSignIn): FastifyReply {
  const { request, reply, gateway } = context;
  const browserId = requireBrowserId(context);
  const going = [{ name: 'going', value: path.slice(1) }, ...fields];
  return sendMismatch({
    request,
    reply,
    gateway,
    browserId,
    tenantId,
    formTarget: 'own',
    going,
  });
}

/** Shows the form; a person who is signed in already confirms their password. */
export function sendSignIn(
  context: PageContext,
  signIn: DirectSignIn,
  person: Person | undefined,
): FastifyReply {
  const { request, reply, gateway } = context;
  const shown = { identifier: person?.session.username ?? '', again: person !== undefined };
  return sendPage(request, reply, gateway, signInPage(context, signIn, shown));
}

/** Refuses an action for which the sign-in of `person` is too old, with the form for a new one. */
export function sendSignInAgain(
  context: PageContext,
  signIn: DirectSignIn,
  person: Person,
  error: OAuthError,
): FastifyReply {
  const { request, reply, gateway } = context;
  const shown = { identifier: person.session.username, again: true, problem: error.message };
  return sendPageError(request, reply, gateway, error, signInPage(context, signIn, shown));
}

/** Checks user name and password of a form and starts a session; otherwise answers with the form or the mismatch page. */
export async function signInDirectly(
  context: PageContext,
  signIn: DirectSignIn,
  form: ReadonlyMap<string, string>,
): Promise<'signed_in' | FastifyReply> {
  const { app, request, gateway } = context;
  if (!servesTenant(context, signIn.tenantId)) {
    throw new OAuthError('invalid_request', 'The tenant is not served at this address.');
  }
  const identifier = form.get('identifier') ?? '';
  const password = form.get('password') ?? '';
  if (identifier === '' || password === '') {
    return refuse(context, signIn, identifier, 400, 'Enter both your user name and your password.');
  }
  const { session, tenantMismatch } = await gateway.peers.authorize.signInDirect(
    { browser: browserContext(app, request), tenantId: signIn.tenantId, identifier, password },
    rootCall(request.incoming.requestId),
  );
  if (tenantMismatch) return sendElsewhere(context, signIn);
  if (session === undefined) {
    return refuse(context, signIn, identifier, 401, wrongCredentials);
  }
  await giveSession(context, session);
  return 'signed_in';
}

function refuse(
  context: PageContext,
  signIn: DirectSignIn,
  identifier: string,
  status: 400 | 401,
  problem: string,
): FastifyReply {
  const { request, reply, gateway } = context;
  const page = signInPage(context, signIn, { identifier, again: false, problem });
  return sendPageError(request, reply, gateway, new OAuthError('access_denied', problem), {
    ...page,
    status,
  });
}

function signInPage(
  context: PageContext,
  { path, tenantId, lead, subject, fields }: DirectSignIn,
  shown: { readonly identifier: string; readonly again: boolean; readonly problem?: string },
): Page {
  const token = context.gateway.antiForgery.token(requireBrowserId(context), purpose.signInTo(subject));
  return {
    template: 'sign-in',
    title: shown.again ? 'Confirm that it is you' : 'Sign in',
    message: `Sign in ${lead}.`,
    formTarget: 'own',
    tenant: { id: tenantId, name: '' },
    data: {
      path,
      lead,
      tenantId,
      ...shown,
      identifier: shown.identifier.slice(0, longestShown),
      fields: [{ name: antiForgeryField, value: token }, ...fields],
    },
  };
}
