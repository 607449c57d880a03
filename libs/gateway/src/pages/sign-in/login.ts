import type { FastifyReply } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import type { GetInteractionResponse } from '@tessera/proto-gen/authorize';
import { readForm, readQuery } from '@tessera/pages';
import { dropCookie, readCookie } from '../../http/cookies.ts';
import { browserContext } from '../browser-context.ts';
import { servedApplication } from '../described-application.ts';
import { checkForm, purpose } from '../form.ts';
import type { GatewayPage, PageHandler, PageContext } from '../page-context.ts';
import { sendPage, sendPageError, type Page } from '../send-page.ts';
import { signedInPerson } from '../signed-in-person.ts';
import { applicationHome } from './application-home.ts';
import { againField, requestAgain, type RequestAgain } from './carried-request.ts';
import { sendToClient } from './to-client.ts';
import type { SignInPlace } from './sign-in-place.ts';
import { continueSignIn, sendStep } from './sign-in.ts';

/** `GET /login`: the page of a pending sign-in, else a page that says there is none. */
const load: PageHandler = async (context) => {
  const { request, reply, gateway } = context;
  const query = readQuery(request);
  const interactionId = query.get('interaction') ?? '';
  if (interactionId === '') return showNoSignIn(context);
  const found = await findInteraction(context, interactionId);
  if (found?.redirect !== undefined) return sendToClient(context, found.redirect);
  const again = requestAgain(query);
  if (found?.step === undefined) return sendPage(request, reply, gateway, await pageOfOver(context, again));
  return sendStep(context, signInAtLogin(interactionId, again), found.step, {});
};

/**
 * `POST /login`: the form of a step of a pending sign-in. One that is over, as Redis may forget it, or of another
 * browser, gets a page that begins it anew.
 */
const act: PageHandler = async (context) => {
  const { app, request } = context;
  const form = readForm(request);
  const again = requestAgain(form);
  const place = signInAtLogin(form.get('interaction') ?? '', again);
  const goOn = async () => {
    checkForm(app, request, form, place.purpose);
    return continueSignIn(context, place, form);
  };
  const answer = await goOn().catch(async (error: unknown) => {
    const isOver = error instanceof OAuthError && ['invalid_request', 'access_denied'].includes(error.code);
    if (isOver) return sendOver(context, error, again);
    throw error;
  });
  if (answer === 'signed_in') throw new OAuthError('server_error', 'The sign-in could not be completed.');
  return answer;
};

export const loginPage: GatewayPage = { load, act };

/** Says that a sign-in is over, and begins it anew or leads elsewhere. */
export async function sendOver(
  context: PageContext,
  error: OAuthError,
  again: RequestAgain | undefined,
): Promise<FastifyReply> {
  const { request, reply, gateway } = context;
  return sendPageError(request, reply, gateway, error, await pageOfOver(context, again));
}

async function pageOfOver(context: PageContext, again: RequestAgain | undefined): Promise<Page> {
  const found = again && (await servedApplication(context, again.clientId));
  const person = await signedInPerson(context).catch(() => undefined);
  const isSignedIn =
    person !== undefined && (found?.tenant?.tenantId ?? person.session.tenantId) === person.session.tenantId;
  const {
    request: { incoming },
  } = context;
  const home =
    found?.application &&
    applicationHome(found.application, again?.redirectUri ?? '', new URL(incoming.issuer()).origin);
  return {
    template: 'no-sign-in',
    title: isSignedIn ? 'You are already signed in' : 'This sign-in has expired',
    message: noSignIn,
    formTarget: 'own',
    ...(found?.tenant && { tenant: { id: found.tenant.tenantId, name: found.tenant.name } }),
    data: {
      // For people; a client that reads JSON has the other one.
      message: 'It was completed already, or has waited too long.',
      // The client of a completed sign-in has had its answer, and would refuse another one to the same request.
      again: isSignedIn ? undefined : again?.path,
      home,
      application: found?.application?.name,
    },
  };
}

/** The place of the sign-in of an authorization request. */
export function signInAtLogin(interactionId: string, again?: RequestAgain): SignInPlace {
  return {
    path: '/login',
    formTarget: 'client',
    purpose: purpose.signIn(interactionId),
    fields: again === undefined ? [] : [{ name: againField, value: again.text }],
    lead: ({ applicationName }) => ["You're signing in to <b>{name}</b>.", applicationName],
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

const noSignIn = 'There is no sign-in request to continue.';

function showNoSignIn({ app, request, reply, gateway }: PageContext): FastifyReply {
  const signedOut = readCookie(app, request, 'signedOut') !== '';
  if (!signedOut) {
    return sendPage(request, reply, gateway, {
      template: 'no-sign-in',
      title: 'No sign-in request',
      message: noSignIn,
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
