import type { FastifyReply } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import type { PendingRequest } from '@tessera/proto-gen/device';
import { readQuery } from '../http/query.ts';
import { decideFromForm, takeOutcome, type Outcome } from './decision.ts';
import { attemptSignIn, sendSignIn, type DirectSignIn } from './direct-sign-in.ts';
import { antiForgeryField, checkForm, purpose, readForm } from './form.ts';
import type { PageHandler, Visit } from './handler.ts';
import { sendPage, sendPageError } from './page.ts';
import { devicePath } from './paths.ts';
import { personName, requireBrowserId, signedInPerson, type Person } from './person.ts';
import { viewRequest } from './request-view.ts';

/**
 * `GET /device` (RFC 8628 §3.3). A code in the address only fills in the form (§3.3.1, §5.4): the code is looked up once this
 * browser sent that form, which the `proof` beside it shows.
 */
export const showDevice: PageHandler = async (visit) => {
  const query = readQuery(visit.request);
  const userCode = query.get('user_code') ?? '';
  const outcome = takeOutcome(visit);
  if (userCode === '' && outcome !== undefined) return sendOutcome(visit, outcome);
  const browserId = requireBrowserId(visit);
  const { antiForgery } = visit.gateway;
  if (
    userCode === '' ||
    !antiForgery.proves(browserId, purpose.openCode(userCode), query.get('proof') ?? '')
  ) {
    return sendEntry(visit, { userCode });
  }
  return answering(visit, userCode, async () => {
    const person = await signedInPerson(visit);
    if (person?.fresh === true) return sendConfirmation(visit, userCode, person);
    const { tenantId } = await find(visit, userCode, undefined);
    if (person !== undefined && person.session.tenantId !== tenantId) throw unknownCode();
    return sendSignIn(visit, signInFor(userCode, tenantId), person);
  });
};

/** `POST /device`: the forms of these pages, each told by the field that only it has. */
export const submitDevice: PageHandler = async (visit) => {
  const { app, request, gateway } = visit;
  const form = readForm(request);
  const userCode = form.get('user_code') ?? '';
  if (form.has('decision')) return decide(visit, form, userCode);
  if (form.has('password')) return signIn(visit, form, userCode);
  checkForm(app, request, form, purpose.enterCode, gateway);
  if (userCode.trim() === '') {
    return sendEntry(visit, { userCode: '', error: new OAuthError('invalid_request', 'Enter the code.') });
  }
  return openCode(visit, userCode);
};

async function signIn(
  visit: Visit,
  form: ReadonlyMap<string, string>,
  userCode: string,
): Promise<FastifyReply> {
  const { app, request, gateway } = visit;
  checkForm(app, request, form, purpose.signInTo(userCode), gateway);
  return answering(visit, userCode, async () => {
    const { tenantId } = await find(visit, userCode, undefined);
    const answer = await attemptSignIn(visit, signInFor(userCode, tenantId), form);
    return answer === 'signed_in' ? openCode(visit, userCode) : answer;
  });
}

async function decide(
  visit: Visit,
  form: ReadonlyMap<string, string>,
  userCode: string,
): Promise<FastifyReply> {
  const person = await signedInPerson(visit);
  // Signed out or too long ago meanwhile: ask, and show the request again.
  if (person?.fresh !== true) return openCode(visit, userCode);
  const signIn = signInFor(userCode, person.session.tenantId);
  const answer = await decideFromForm(visit, form, person, signIn, (call, options) =>
    visit.gateway.peers.device.decideDeviceAuthorization(call, options),
  );
  return answer === 'decided' ? redirect(visit, devicePath({ user_code: undefined })) : answer;
}

function signInFor(userCode: string, tenantId: string): DirectSignIn {
  const fields = [{ name: 'user_code', value: userCode }];
  return { path: '/device', tenantId, lead: 'to connect your device', subject: userCode, fields };
}

/** Goes to the pages of a code, as this browser alone can. */
function openCode(visit: Visit, userCode: string): FastifyReply {
  const proof = visit.gateway.antiForgery.token(requireBrowserId(visit), purpose.openCode(userCode));
  return redirect(visit, devicePath({ user_code: userCode, proof }));
}

function redirect({ reply }: Visit, path: string): FastifyReply {
  return reply.header('cache-control', 'no-store').redirect(path, 303);
}

/** Answers with the form again when the code is not valid or too many were tried. */
async function answering(
  visit: Visit,
  userCode: string,
  answer: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    if (error.code !== 'not_found' && error.code !== 'rate_limited') throw error;
    // The address exists; what is wrong is what was typed.
    const shown = error.code === 'not_found' ? new OAuthError('invalid_request', error.message) : error;
    return sendEntry(visit, { userCode, error: shown, person: await signedInPerson(visit) });
  }
}

function unknownCode(): OAuthError {
  return new OAuthError('not_found', 'The code is not valid or has expired.');
}

async function find(
  { request, gateway }: Visit,
  userCode: string,
  person: Person | undefined,
): Promise<PendingRequest> {
  const { sessionId, tenantId, userId } = person?.session ?? { sessionId: '', tenantId: '', userId: '' };
  const { ipAddress, requestId } = request.incoming;
  const found = await gateway.peers.device.getDeviceAuthorization(
    { userCode, sessionId, tenantId, userId, ipAddress },
    rootCall(requestId),
  );
  if (found.request === undefined) throw unknownCode();
  return found.request;
}

function sendEntry(
  visit: Visit,
  shown: { readonly userCode: string; readonly error?: OAuthError; readonly person?: Person | undefined },
): FastifyReply {
  const { request, reply, gateway } = visit;
  const { userCode, error, person } = shown;
  const browserId = requireBrowserId(visit);
  const page = {
    view: 'device',
    title: 'Connect a device',
    message: error?.message ?? 'Enter the code that your device shows.',
    formTarget: 'own',
    data: {
      userCode,
      problem: error?.message,
      person: person && { name: personName(person.session), tenantId: person.session.tenantId },
      fields: [{ name: antiForgeryField, value: gateway.antiForgery.token(browserId, purpose.enterCode) }],
      signOut: signOutFields(visit, userCode),
    },
  } as const;
  return error === undefined
    ? sendPage(request, reply, gateway, page)
    : sendPageError(request, reply, gateway, error, page);
}

function signOutFields(visit: Visit, userCode: string) {
  const token = visit.gateway.antiForgery.token(requireBrowserId(visit), purpose.signOut);
  return [
    { name: antiForgeryField, value: token },
    { name: 'going', value: 'device' },
    { name: 'user_code', value: userCode },
  ];
}

async function sendConfirmation(visit: Visit, userCode: string, person: Person): Promise<FastifyReply> {
  const { request, reply, gateway } = visit;
  const pending = await find(visit, userCode, person);
  const { view, tenantName } = await viewRequest(visit, pending);
  const token = gateway.antiForgery.token(requireBrowserId(visit), purpose.decide(view.requestId));
  return sendPage(request, reply, gateway, {
    view: 'device-confirm',
    title: 'Connect this device?',
    message: `${view.application} asks for access to your account.`,
    formTarget: 'own',
    tenant: { id: pending.tenantId, name: tenantName },
    data: {
      request: view,
      userCode: displayed(userCode),
      person: { name: personName(person.session) },
      fields: [
        { name: antiForgeryField, value: token },
        { name: 'request', value: view.requestId },
        { name: 'user_code', value: userCode },
      ],
      signOut: signOutFields(visit, userCode),
    },
  });
}

/** As the device shows it, however it was typed. */
function displayed(userCode: string): string {
  const letters = userCode.toUpperCase().replaceAll(/[^A-Z]/g, '');
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}

const outcomes: Readonly<Record<Outcome, { title: string; message: string }>> = {
  approved: {
    title: 'Device connected',
    message: 'You approved. Your device goes on by itself in a moment.',
  },
  denied: { title: 'Access denied', message: 'You denied. The device gets no access to your account.' },
  over: { title: 'Too late', message: 'The request is not waiting any more. Start again on your device.' },
};

function sendOutcome({ request, reply, gateway }: Visit, outcome: Outcome): FastifyReply {
  const page = {
    view: 'device-decided',
    formTarget: 'own',
    ...outcomes[outcome],
    data: { outcome },
  } as const;
  return sendPage(request, reply, gateway, page);
}
