import type { FastifyReply } from 'fastify';
import { OAuthError, otherPaths } from '@tessera/oauth';
import { OwnPage_Name } from '@tessera/proto-gen/authorize';
import { rootCall, notUnderstood } from '@tessera/rpc';
import { readForm, readQuery, redirectToPage, shownParameter } from '@tessera/pages';
import { sendTenantForm, tenantProblem } from '../tenant-form.ts';
import { browserContext } from '../browser-context.ts';
import { checkForm, purpose } from '../form.ts';
import { organizationName } from '../looks/tenant-looks.ts';
import type { GatewayPage, PageContext, PageHandler } from '../page-context.ts';
import { sendPage } from '../send-page.ts';
import { passwordPath } from '../paths.ts';
import { giveSession } from '../session.ts';
import { signedInPerson, type Person } from '../signed-in-person.ts';
import type { ResumedPlace } from '../sign-in/resumed-place.ts';
import { signInToPage } from '../sign-in/sign-in-place.ts';
import { continueSignIn, sendElsewhere, sendSignIn } from '../sign-in/sign-in.ts';
import { pageOfForm } from '../sign-in/steps/step-pages.ts';
import { chosenPassword, notePasswordSet, sendPasswordForm, takePasswordSet } from './new-password.ts';

/**
 * `GET /password`: the form with which people change their passwords. They sign in first, at the tenant that the
 * address or they name.
 */
const load: PageHandler = async (context) => {
  const { request, reply, gateway } = context;
  const tenantId = request.incoming.tenant?.tenantId ?? shownParameter(readQuery(request), 'tenant');
  const elsewhere = request.incoming.tenant === undefined ? gateway.tenants.issuerOf(tenantId) : undefined;
  if (elsewhere !== undefined)
    return reply.header('cache-control', 'no-store').redirect(elsewhere + passwordPath(), 302);
  const person = await signedInPerson(context);
  if (person === undefined) {
    const problem = await tenantProblem(context, tenantId);
    if (problem === undefined) return sendSignIn(context, signInFor(tenantId), undefined);
    return sendTenantForm(context, {
      path: otherPaths.password,
      purpose: 'change your password',
      lead: 'Your administrator can tell you its name.',
      typed: tenantId,
      problem,
      fields: [],
    });
  }
  if (tenantId !== '' && tenantId !== person.session.tenantId)
    return sendElsewhere(context, signInFor(tenantId));
  return takePasswordSet(context) === undefined ? sendForm(context, person) : sendDone(context);
};

/** `POST /password`: signs in, or changes the password. */
const act: PageHandler = async (context) => {
  const { app, request, gateway } = context;
  const form = readForm(request);
  if (pageOfForm(form) !== undefined) {
    const tenantId = shownParameter(form, 'tenant');
    checkForm(app, request, form, purpose.signInTo(tenantId));
    const answer = await continueSignIn(context, signInFor(tenantId), form);
    return answer === 'signed_in' ? back(context) : answer;
  }
  const person = await signedInPerson(context);
  // Signed out meanwhile.
  if (person === undefined) return back(context);
  checkForm(app, request, form, purpose.changePassword(person.session.userId));
  const presentPassword = form.get('present_password') ?? '';
  if (presentPassword === '') return sendForm(context, person, 'Enter your current password.', true);
  const { password: newPassword, problem } = chosenPassword(form);
  if (problem !== undefined) return sendForm(context, person, problem);
  const changed = await unlessLocked(
    gateway.peers.authorize.changePassword(
      { browser: browserContext(app, request), presentPassword, newPassword },
      rootCall(request.incoming.requestId),
    ),
  );
  if (changed instanceof OAuthError) return sendForm(context, person, changed, true);
  const { outcome } = changed;
  switch (outcome.case) {
    case 'session':
      await giveSession(context, outcome.value);
      notePasswordSet(context);
      return back(context);
    case 'signedOut':
      return back(context);
    case 'wrongPassword':
      return sendForm(context, person, 'Wrong current password. Try again.', true);
    case 'passwordProblem':
      return sendForm(context, person, `The new password ${outcome.value}.`);
    default:
      throw notUnderstood('what became of a new password');
  }
};

export const ownPasswordPage = { load, act } satisfies GatewayPage;

/** Goes on after a sign-in at a provider. */
export function resumeOwnPassword(context: PageContext, fields: ReadonlyMap<string, string>): ResumedPlace {
  return { place: signInFor(shownParameter(fields, 'tenant')), signedIn: () => back(context) };
}

function back({ reply }: PageContext): FastifyReply {
  return redirectToPage(reply, passwordPath());
}

function signInFor(tenantId: string) {
  return signInToPage({
    path: otherPaths.password,
    page: { name: OwnPage_Name.PASSWORD, tenantId },
    lead: 'Change the password of your account at <b>{name}</b>.',
    subject: tenantId,
    fields: [{ name: 'tenant', value: tenantId }],
  });
}

async function unlessLocked<T>(answer: Promise<T>): Promise<T | OAuthError> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'rate_limited') return error;
    throw error;
  }
}

async function sendForm(
  context: PageContext,
  { session }: Person,
  problem?: string | OAuthError,
  isPresentWrong = false,
): Promise<FastifyReply> {
  const { tenantId, userId, username } = session;
  return sendPasswordForm(context, {
    title: context.row.title,
    lead: 'For your account at <b>{name}</b>',
    leadName: await organizationName(context.gateway, tenantId),
    tenant: { id: tenantId, name: '' },
    path: otherPaths.password,
    purpose: purpose.changePassword(userId),
    username,
    asksForPresent: true,
    fields: [],
    problem,
    isPresentWrong,
  });
}

function sendDone({ request, reply, gateway }: PageContext): FastifyReply {
  return sendPage(request, reply, gateway, {
    template: 'notice',
    title: 'Your password is changed',
    message: 'You are still signed in here, and signed out everywhere else.',
    formTarget: 'own',
    data: { advice: 'You can close this page.' },
  });
}
