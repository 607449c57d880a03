import type { FastifyReply } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import { browserContext } from './browser.ts';
import { antiForgeryField, purpose } from './form.ts';
import type { Visit } from './handler.ts';
import { sendMismatch } from './mismatch.ts';
import { requireBrowserId, type Person } from './person.ts';
import { sendPage, sendPageError, type Page } from './page.ts';
import { giveSession } from './session.ts';

/** A sign-in without an authorization request, on the way to a page of ours. */
export interface DirectSignIn {
  /** Where the form is sent. */
  readonly path: '/device' | '/approvals';
  readonly tenantId: string;
  /** What the person signs in for, as the end of a sentence. */
  readonly lead: string;
  /** What the form's anti-forgery field is bound to. */
  readonly subject: string;
  /** Hidden fields beside it. */
  readonly fields: readonly { readonly name: string; readonly value: string }[];
}

/** Says that the browser is signed in to another tenant, and offers to sign out and go on here. */
export function sendElsewhere(visit: Visit, { path, tenantId, fields }: DirectSignIn): FastifyReply {
  const { request, reply, gateway } = visit;
  const browserId = requireBrowserId(visit);
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

/** Shows the form; whoever is signed in already is asked for their password again. */
export function sendSignIn(visit: Visit, signIn: DirectSignIn, person: Person | undefined): FastifyReply {
  const { request, reply, gateway } = visit;
  const shown = { identifier: person?.session.username ?? '', again: person !== undefined };
  return sendPage(request, reply, gateway, signInPage(visit, signIn, shown));
}

/** Refuses what the sign-in of `person` no longer counts for, with the form for a new one. */
export function sendSignInAgain(
  visit: Visit,
  signIn: DirectSignIn,
  person: Person,
  error: OAuthError,
): FastifyReply {
  const { request, reply, gateway } = visit;
  const shown = { identifier: person.session.username, again: true, problem: error.message };
  return sendPageError(request, reply, gateway, error, signInPage(visit, signIn, shown));
}

/** Checks the credentials of a form and makes a session; otherwise answers why not, with the form or the way out. */
export async function attemptSignIn(
  visit: Visit,
  signIn: DirectSignIn,
  form: ReadonlyMap<string, string>,
): Promise<'signed_in' | FastifyReply> {
  const { app, request, gateway } = visit;
  const identifier = form.get('identifier') ?? '';
  const password = form.get('password') ?? '';
  if (identifier === '' || password === '') {
    return refuse(visit, signIn, identifier, 400, 'Enter both your user name and your password.');
  }
  const { session, tenantMismatch } = await gateway.peers.authorize.signInDirect(
    { browser: browserContext(app, request), tenantId: signIn.tenantId, identifier, password },
    rootCall(request.incoming.requestId),
  );
  if (tenantMismatch) return sendElsewhere(visit, signIn);
  if (session === undefined) {
    return refuse(visit, signIn, identifier, 401, 'The user name or the password is wrong.');
  }
  await giveSession(visit, session);
  return 'signed_in';
}

function refuse(
  visit: Visit,
  signIn: DirectSignIn,
  identifier: string,
  status: 400 | 401,
  problem: string,
): FastifyReply {
  const { request, reply, gateway } = visit;
  const page = signInPage(visit, signIn, { identifier, again: false, problem });
  return sendPageError(request, reply, gateway, new OAuthError('access_denied', problem), {
    ...page,
    status,
  });
}

function signInPage(
  visit: Visit,
  { path, tenantId, lead, subject, fields }: DirectSignIn,
  shown: { readonly identifier: string; readonly again: boolean; readonly problem?: string },
): Page {
  const token = visit.gateway.antiForgery.token(requireBrowserId(visit), purpose.signInTo(subject));
  return {
    view: 'sign-in',
    title: shown.again ? 'Confirm that it is you' : 'Sign in',
    message: `Sign in ${lead}.`,
    formTarget: 'own',
    tenant: { id: tenantId, name: '' },
    data: {
      path,
      lead,
      tenantId,
      ...shown,
      fields: [{ name: antiForgeryField, value: token }, ...fields],
    },
  };
}
