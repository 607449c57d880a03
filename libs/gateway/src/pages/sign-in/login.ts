import type { FastifyReply } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import type { GetInteractionResponse } from '@tessera/proto-gen/authorize';
import { dropCookie, readCookie } from '../../http/cookies.ts';
import { readQuery } from '../../http/query.ts';
import { browserContext } from '../browser-context.ts';
import { checkForm, purpose, readForm } from '../form.ts';
import type { PageHandler, PageContext } from '../page-context.ts';
import { sendPage, sendPageError } from '../page.ts';
import { sendToClient } from './to-client.ts';
import { continueSignIn, sendStep, type SignInPlace } from './sign-in.ts';

/** `GET /login`: the page of a pending sign-in, else a page that says there is none. */
export const showLogin: PageHandler = async (context) => {
  const { request, reply, gateway } = context;
  const interactionId = readQuery(request).get('interaction') ?? '';
  const found = interactionId === '' ? undefined : await findInteraction(context, interactionId);
  if (found?.redirect !== undefined) return sendToClient(reply, gateway, found.redirect);
  if (found?.step === undefined) return showNoSignIn(context);
  return sendStep(context, signInAtLogin(interactionId), found.step, {});
};

/** `POST /login`: the form of a step of a pending sign-in. One that is over, as Redis may forget it, gets a page that says how to go on. */
export const signIn: PageHandler = async (context) => {
  const { app, request, gateway } = context;
  const form = readForm(request);
  const place = signInAtLogin(form.get('interaction') ?? '');
  checkForm(app, request, form, place.purpose, gateway);
  const answer = await continueSignIn(context, place, form).catch((error: unknown) => {
    if (error instanceof OAuthError && error.code === 'invalid_request') return sendOver(context, error);
    throw error;
  });
  if (answer === 'signed_in') throw new OAuthError('server_error', 'The sign-in could not be completed.');
  return answer;
};

/** Says that a sign-in is over, and how to go on. */
export function sendOver({ request, reply, gateway }: PageContext, error: OAuthError): FastifyReply {
  return sendPageError(request, reply, gateway, error, {
    template: 'no-sign-in',
    title: 'This sign-in is over',
    message: error.message,
    formTarget: 'own',
  });
}

/** The place of the sign-in of an authorization request. */
export function signInAtLogin(interactionId: string): SignInPlace {
  return {
    path: '/login',
    formTarget: 'client',
    purpose: purpose.signIn(interactionId),
    fields: [],
    lead: ({ applicationName }) => ['to continue to <b>{name}</b>', applicationName],
    message: ({ applicationName }) => `Sign in to continue to ${applicationName}.`,
  };
}

/** Undefined if the sign-in is finished, has expired, or belongs to another browser. */
async function findInteraction(
  { app, request, gateway }: PageContext,
  interactionId: string,
): Promise<GetInteractionResponse | undefined> {
  try {
    return await gateway.peers.authorize.getInteraction(
      { browser: browserContext(app, request), interactionId },
      rootCall(request.incoming.requestId),
    );
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_request') return undefined;
    throw error;
  }
}

function showNoSignIn({ app, request, reply, gateway }: PageContext): FastifyReply {
  const signedOut = readCookie(app, request, 'signedOut') !== '';
  if (!signedOut) {
    const message = 'There is no sign-in request to continue.';
    return sendPage(request, reply, gateway, {
      template: 'no-sign-in',
      title: 'No sign-in request',
      message,
      formTarget: 'own',
    });
  }
  dropCookie(request, reply, 'signedOut');
  const message = 'You are signed out.';
  return sendPage(request, reply, gateway, {
    template: 'signed-out',
    title: 'Signed out',
    message,
    formTarget: 'own',
  });
}
