import type { FastifyReply } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import { OwnPage_Name } from '@tessera/proto-gen/authorize';
import type { PendingRequest } from '@tessera/proto-gen/device';
import { antiForgery, readForm, readQuery, redirectToPage, shownParameter } from '@tessera/pages';
import { decideFromForm, takeOutcome, type Outcome } from './decision.ts';

import { checkForm, fieldsOfForm, purpose } from '../form.ts';
import { organizationName } from '../looks/tenant-looks.ts';
import type { GatewayPage, PageHandler, PageContext } from '../page-context.ts';
import { sendPage, sendPageError } from '../send-page.ts';
import { devicePath } from '../paths.ts';
import {
  personName,
  requireBrowserId,
  servesTenant,
  signedInPerson,
  type Person,
} from '../signed-in-person.ts';
import { describeRequest } from './request-description.ts';
import type { ResumedPlace } from '../sign-in/resumed-place.ts';
import { signInToPage } from '../sign-in/sign-in-place.ts';
import { continueSignIn, sendSignIn } from '../sign-in/sign-in.ts';
import { pageOfForm } from '../sign-in/steps/step-pages.ts';
import { isTenantId, sendTenantForm, tenantProblem } from '../tenant-form.ts';

/**
 * `GET /device` (RFC 8628 §3.3). A code in the address only fills in the form (§3.3.1, §5.4): the code is looked up
 * once this browser sent that form, which the form's `proof` shows. After too many wrong codes a person who is not
 * signed in first names the tenant and signs in.
 */
const load: PageHandler = async (context) => {
  const query = readQuery(context.request);
  const userCode = shownParameter(query, 'user_code');
  const outcome = takeOutcome(context);
  if (userCode === '' && outcome !== undefined) return sendOutcome(context, outcome);
  const browserId = requireBrowserId(context);
  if (
    userCode === '' ||
    !antiForgery.proves(browserId, purpose.openCode(userCode), query.get('proof') ?? '')
  ) {
    return sendEntry(context, { userCode });
  }
  return answering(context, userCode, async () => {
    const person = await signedInPerson(context);
    if (person?.fresh === true) return sendConfirmation(context, userCode, person);
    const entered = context.request.incoming.tenant?.tenantId ?? shownParameter(query, 'tenant');
    const tenantId = (await tenantOf(context, userCode)) ?? person?.session.tenantId ?? entered;
    const problem = await tenantProblem(context, tenantId);
    if (problem !== undefined) return askForTenant(context, userCode, { typed: entered, problem });
    if (person !== undefined && person.session.tenantId !== tenantId) throw unknownCode();
    return sendSignIn(context, signInFor(userCode, tenantId), person);
  });
};

/** `POST /device`: the forms of these pages, each recognized by the field that only it has. */
const act: PageHandler = async (context) => {
  const { app, request } = context;
  const form = readForm(request);
  const userCode = shownParameter(form, 'user_code');
  if (form.has('decision')) return decide(context, form, userCode);
  if (pageOfForm(form) !== undefined) return signIn(context, form, userCode);
  checkForm(app, request, form, purpose.enterCode);
  if (userCode.trim() === '') {
    return sendEntry(context, { userCode: '', error: new OAuthError('invalid_request', 'Enter the code.') });
  }
  return openCode(context, userCode);
};

export const devicePage = { load, act } satisfies GatewayPage;

async function signIn(
  context: PageContext,
  form: ReadonlyMap<string, string>,
  userCode: string,
): Promise<FastifyReply> {
  const { app, request } = context;
  checkForm(app, request, form, purpose.signInTo(userCode));
  return answering(context, userCode, async () => {
    const tenantId = (await tenantOf(context, userCode)) ?? shownParameter(form, 'tenant');
    if (!isTenantId(tenantId)) return openCode(context, userCode);
    const place = signInFor(userCode, tenantId, shownParameter(form, 'client_id'));
    const answer = await continueSignIn(context, place, form);
    return answer === 'signed_in' ? openCode(context, userCode) : answer;
  });
}

/** Goes on with a code after a sign-in at a provider. */
export function resumeDevice(context: PageContext, fields: ReadonlyMap<string, string>): ResumedPlace {
  const userCode = shownParameter(fields, 'user_code');
  return {
    place: signInFor(userCode, shownParameter(fields, 'tenant'), shownParameter(fields, 'client_id')),
    signedIn: () => openCode(context, userCode),
  };
}

async function decide(
  context: PageContext,
  form: ReadonlyMap<string, string>,
  userCode: string,
): Promise<FastifyReply> {
  const person = await signedInPerson(context);
  // Signed out or too long ago meanwhile: ask, and show the request again.
  if (person?.fresh !== true) return openCode(context, userCode);
  const signIn = (clientId: string) => signInFor(userCode, person.session.tenantId, clientId);
  const answer = await decideFromForm(context, form, person, signIn, (call, options) =>
    context.gateway.peers.device.decideDeviceAuthorization(call, options),
  );
  return answer === 'decided' ? redirectToPage(context.reply, devicePath({ user_code: undefined })) : answer;
}

function signInFor(userCode: string, tenantId: string, clientId = '') {
  const fields = [
    { name: 'user_code', value: userCode },
    { name: 'tenant', value: tenantId },
    { name: 'client_id', value: clientId },
  ];
  return signInToPage({
    path: '/device',
    page: { name: OwnPage_Name.DEVICE, tenantId, clientId },
    lead: 'Connect a device to your account at <b>{name}</b>.',
    subject: userCode,
    fields,
  });
}

function askForTenant(
  context: PageContext,
  userCode: string,
  entered: { readonly typed: string; readonly problem: string },
): FastifyReply {
  return sendTenantForm(context, {
    path: '/device',
    purpose: 'connect your device',
    lead: 'Too many wrong codes were entered. Sign in to continue; your administrator can tell you the name of your organization.',
    ...entered,
    fields: [
      { name: 'user_code', value: userCode },
      { name: 'proof', value: proofOf(context, userCode) },
    ],
  });
}

/** Redirects to the pages of a code, with the proof that this browser entered it. */
function openCode(context: PageContext, userCode: string): FastifyReply {
  return redirectToPage(
    context.reply,
    devicePath({ user_code: userCode, proof: proofOf(context, userCode) }),
  );
}

function proofOf(context: PageContext, userCode: string): string {
  return antiForgery.token(requireBrowserId(context), purpose.openCode(userCode));
}

/** Answers with the form again when the code is not valid or too many were tried. */
async function answering(
  context: PageContext,
  userCode: string,
  answer: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await answer();
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    if (error.code !== 'not_found' && error.code !== 'rate_limited') throw error;
    // The path exists; only the code is wrong.
    const shown = error.code === 'not_found' ? new OAuthError('invalid_request', error.message) : error;
    return sendEntry(context, { userCode, error: shown, person: await signedInPerson(context) });
  }
}

function unknownCode(): OAuthError {
  return new OAuthError('not_found', 'The code is not valid or has expired.');
}

/** The tenant of a code, for somebody who is not signed in; undefined if they must sign in before it is looked up. */
async function tenantOf(context: PageContext, userCode: string): Promise<string | undefined> {
  try {
    return (await find(context, userCode, undefined)).tenantId;
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'login_required') return undefined;
    throw error;
  }
}

async function find(
  { request, gateway }: PageContext,
  userCode: string,
  person: Person | undefined,
): Promise<PendingRequest> {
  const { sessionId, tenantId, userId } = person?.session ?? { sessionId: '', tenantId: '', userId: '' };
  const { ipAddress, requestId } = request.incoming;
  const found = await gateway.peers.device.getDeviceAuthorization(
    { userCode, sessionId, tenantId, userId, ipAddress },
    rootCall(requestId),
  );
  if (found.request === undefined || !servesTenant({ request, gateway }, found.request.tenantId)) {
    throw unknownCode();
  }
  return found.request;
}

async function sendEntry(
  context: PageContext,
  shown: { readonly userCode: string; readonly error?: OAuthError; readonly person?: Person | undefined },
): Promise<FastifyReply> {
  const { request, reply, gateway, row } = context;
  const { userCode, error, person } = shown;
  const page = {
    template: 'device',
    title: row.title,
    message: error?.message ?? 'Enter the code shown on your device.',
    formTarget: row.formTarget,
    ...(person && { tenant: { id: person.session.tenantId } }),
    data: {
      userCode,
      problem: error?.message,
      person: person && {
        name: personName(person.session),
        organization: await organizationName(gateway, person.session.tenantId),
      },
      fields: fieldsOfForm(context, purpose.enterCode),
      signOut: signOutFields(context, userCode),
    },
  } as const;
  return error === undefined
    ? sendPage(request, reply, gateway, page)
    : sendPageError(request, reply, gateway, error, page);
}

function signOutFields(context: PageContext, userCode: string) {
  return fieldsOfForm(context, purpose.signOut, [
    { name: 'going', value: 'device' },
    { name: 'user_code', value: userCode },
  ]);
}

async function sendConfirmation(
  context: PageContext,
  userCode: string,
  person: Person,
): Promise<FastifyReply> {
  const { request, reply, gateway } = context;
  const pending = await find(context, userCode, person);
  const { description, tenantName } = await describeRequest(context, pending);
  return sendPage(request, reply, gateway, {
    template: 'device-confirm',
    title: 'Connect this device?',
    message: `${description.application} asks for access to your account.`,
    formTarget: 'own',
    tenant: { id: pending.tenantId, name: tenantName },
    data: {
      request: description,
      userCode: displayed(userCode),
      person: { name: personName(person.session) },
      fields: fieldsOfForm(context, purpose.decide(description.requestId), [
        { name: 'request', value: description.requestId },
        { name: 'client_id', value: description.clientId },
        { name: 'user_code', value: userCode },
      ]),
      signOut: signOutFields(context, userCode),
    },
  });
}

/** Formatted as the device shows it. */
function displayed(userCode: string): string {
  const letters = userCode.toUpperCase().replaceAll(/[^A-Z]/g, '');
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}

const outcomes: Readonly<Record<Outcome, { title: string; message: string }>> = {
  approved: {
    title: 'Device connected',
    message: 'You approved access. Your device will continue automatically.',
  },
  denied: { title: 'Access denied', message: 'You denied access. The device cannot use your account.' },
  over: { title: 'Too late', message: 'This request is no longer pending. Start again on your device.' },
};

function sendOutcome({ request, reply, gateway }: PageContext, outcome: Outcome): FastifyReply {
  const page = {
    template: 'device-decided',
    formTarget: 'own',
    ...outcomes[outcome],
    data: { outcome },
  } as const;
  return sendPage(request, reply, gateway, page);
}
