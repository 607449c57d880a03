import type { FastifyReply } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { OwnPage_Name, type Session } from '@tessera/proto-gen/authorize';
import type { PendingRequest } from '@tessera/proto-gen/device';
import { readForm, readQuery, redirectToPage, shownParameter, withParameters } from '@tessera/pages';
import { decideFromForm, takeOutcome, type Outcome } from './decision.ts';
import { checkForm, fieldsOfForm, purpose } from '../form.ts';
import { organizationName } from '../looks/tenant-looks.ts';
import type { GatewayPage, PageHandler, PageContext } from '../page-context.ts';
import { sendPage } from '../send-page.ts';
import { approvalsPath } from '../paths.ts';
import { personName, signedInPerson } from '../signed-in-person.ts';
import { describeRequest } from './request-description.ts';
import type { ResumedPlace } from '../sign-in/resumed-place.ts';
import { signInToPage } from '../sign-in/sign-in-place.ts';
import { continueSignIn, sendElsewhere, sendSignIn } from '../sign-in/sign-in.ts';
import { pageOfForm } from '../sign-in/steps/step-pages.ts';
import { sendTenantForm, tenantProblem } from '../tenant-form.ts';

/**
 * `GET /approvals`: the pending backchannel requests of the signed-in person (CIBA Core §7.1). No client leads here, so
 * a person who is not signed in names the tenant: by the link they received, or on the page.
 */
const load: PageHandler = async (context) => {
  const { request, reply, gateway } = context;
  const tenantId = request.incoming.tenant?.tenantId ?? shownParameter(readQuery(request), 'tenant');
  const elsewhere = request.incoming.tenant === undefined ? gateway.tenants.issuerOf(tenantId) : undefined;
  if (elsewhere !== undefined) {
    return reply.header('cache-control', 'no-store').redirect(elsewhere + approvalsPath(), 302);
  }
  const person = await signedInPerson(context);
  const named = shownParameter(readQuery(request), 'request');
  if (person === undefined) {
    const problem = await tenantProblem(context, tenantId);
    return problem === undefined
      ? sendSignIn(context, signInFor(tenantId, { requestId: named }), undefined)
      : sendTenantForm(context, {
          path: '/approvals',
          purpose: 'review your requests',
          lead: 'You can find it in the link you received, or ask your administrator.',
          typed: tenantId,
          problem,
          fields: [],
        });
  }
  if (tenantId !== '' && tenantId !== person.session.tenantId)
    return sendElsewhere(context, signInFor(tenantId, { requestId: named }));
  if (!person.fresh)
    return sendSignIn(context, signInFor(person.session.tenantId, { requestId: named }), person);
  return sendList(context, person.session, named, takeOutcome(context));
};

/** `POST /approvals`: signs in, or decides one request. */
const act: PageHandler = async (context) => {
  const { app, request, gateway } = context;
  const form = readForm(request);
  const requestId = shownParameter(form, 'request');
  if (pageOfForm(form) !== undefined) {
    const tenantId = shownParameter(form, 'tenant');
    checkForm(app, request, form, purpose.signInTo(tenantId));
    const place = placeOf(form);
    const answer = await continueSignIn(context, place, form);
    return answer === 'signed_in' ? redirect(context, requestId) : answer;
  }
  const person = await signedInPerson(context);
  // The session ended or became too old in the meantime: sign in first, then show the list again.
  if (person?.fresh !== true) return redirect(context, requestId);
  const signIn = (clientId: string) => signInFor(person.session.tenantId, { clientId, requestId });
  const answer = await decideFromForm(context, form, person, signIn, (call, options) =>
    gateway.peers.backchannel.decideBackchannelAuthentication(call, options),
  );
  return answer === 'decided' ? redirect(context) : answer;
};

export const approvalsPage = { load, act } satisfies GatewayPage;

/** Goes on after a sign-in at a provider. */
export function resumeApprovals(context: PageContext, fields: ReadonlyMap<string, string>): ResumedPlace {
  return { place: placeOf(fields), signedIn: () => redirect(context, shownParameter(fields, 'request')) };
}

/** @param requestId the one that is shown with its buttons; the first one unless given */
function redirect({ reply }: PageContext, requestId = ''): FastifyReply {
  return redirectToPage(reply, withParameters(approvalsPath(), { request: requestId }));
}

const placeOf = (fields: ReadonlyMap<string, string>) =>
  signInFor(shownParameter(fields, 'tenant'), {
    clientId: shownParameter(fields, 'client_id'),
    requestId: shownParameter(fields, 'request'),
  });

function signInFor(tenantId: string, { clientId = '', requestId = '' } = {}) {
  return signInToPage({
    path: '/approvals',
    page: { name: OwnPage_Name.APPROVALS, tenantId, clientId },
    lead: 'Review requests to your account at <b>{name}</b>.',
    subject: tenantId,
    fields: [
      { name: 'tenant', value: tenantId },
      { name: 'client_id', value: clientId },
      ...(requestId === '' ? [] : [{ name: 'request', value: requestId }]),
    ],
  });
}

const notices: Readonly<Record<Outcome, string>> = {
  approved: 'You approved the request.',
  denied: 'You denied the request.',
  over: 'The request was no longer pending.',
};

const waitingRequests =
  '{count, plural, =0 {Nothing is waiting for you.} one {One request is waiting for you.} other {# requests are waiting for you.}}';

/** Shows one request with its buttons, that which is `named` or else the first, and the others by name. */
async function sendList(
  context: PageContext,
  session: Session,
  named: string,
  outcome: Outcome | undefined,
): Promise<FastifyReply> {
  const { request, reply, gateway, row } = context;
  const { tenantId, userId } = session;
  const waiting = await gateway.peers.backchannel.listBackchannelAuthentications(
    { tenantId, userId },
    rootCall(request.incoming.requestId),
  );
  const isNamed = ({ requestId }: PendingRequest) => requestId === named;
  const pending = waiting.requests.toSorted((one, other) => Number(isNamed(other)) - Number(isNamed(one)));
  const isOver = named !== '' && !pending.some(isNamed);
  const described = await Promise.all(pending.map(async (each) => describeRequest(context, each)));
  const requests = described.map(({ description }) => ({
    ...description,
    fields: fieldsOfForm(context, purpose.decide(description.requestId), [
      { name: 'request', value: description.requestId },
      { name: 'client_id', value: description.clientId },
    ]),
  }));
  const organization = await organizationName(gateway, tenantId, described[0]?.tenantName);
  return sendPage(request, reply, gateway, {
    template: 'approvals',
    title: row.title,
    message: gateway.languages.of('en').t(waitingRequests, { count: requests.length }),
    formTarget: row.formTarget,
    script: true,
    tenant: { id: tenantId, name: organization },
    data: {
      requests,
      summary: waitingRequests,
      notice: isOver ? notices.over : outcome && notices[outcome],
      person: { name: personName(session), organization },
      signOut: fieldsOfForm(context, purpose.signOut, [
        { name: 'going', value: 'approvals' },
        { name: 'tenant', value: tenantId },
      ]),
    },
  });
}
