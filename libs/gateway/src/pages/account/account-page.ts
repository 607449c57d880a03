import type { FastifyReply } from 'fastify';
import { OAuthError, otherPaths } from '@tessera/oauth';
import { OwnPage_Name, type Session } from '@tessera/proto-gen/authorize';
import { rootCall } from '@tessera/rpc';
import { readForm, readQuery, redirectToPage, shownParameter } from '@tessera/pages';
import { dropCookie, readCookie, writeCookie } from '../../http/cookies.ts';
import { sendTenantForm, tenantProblem } from '../tenant-form.ts';
import { browserContext } from '../browser-context.ts';
import { checkForm, fieldsOfForm, purpose } from '../form.ts';
import type { GatewayPage, PageContext, PageHandler } from '../page-context.ts';
import { sendPage } from '../send-page.ts';
import { accountPath } from '../paths.ts';
import { personName, signedInPerson } from '../signed-in-person.ts';
import type { ResumedPlace } from '../sign-in/resumed-place.ts';
import { signInToPage } from '../sign-in/sign-in-place.ts';
import { continueSignIn, sendElsewhere, sendSignIn } from '../sign-in/sign-in.ts';
import { pageOfForm } from '../sign-in/steps/step-pages.ts';
import { accountNotice, resultOfLink, type AccountResult } from './account-results.ts';
import type { AccountSection, AccountView, AccountVisit, Confirmation } from './account-section.ts';
import { activitySection } from './activity-section.ts';
import { applicationsSection } from './applications-section.ts';
import { closingSection } from './closing-section.ts';
import { factorsSection } from './factors-section.ts';
import { passkeysSection } from './passkeys-section.ts';
import { profileSection } from './profile-section.ts';
import { providersSection } from './providers-section.ts';
import { sessionsSection } from './sessions-section.ts';

/** The sections with forms, in the order of the page. */
const sections: readonly AccountSection[] = [
  profileSection,
  passkeysSection,
  factorsSection,
  providersSection,
  sessionsSection,
  applicationsSection,
  activitySection,
  closingSection,
];

/**
 * `GET /account`: what a person sees and changes of themselves. They sign in first, at the tenant that the address or
 * they name.
 */
const load: PageHandler = async (context) => {
  const { request, reply, gateway } = context;
  const tenantId = request.incoming.tenant?.tenantId ?? shownParameter(readQuery(request), 'tenant');
  const elsewhere = request.incoming.tenant === undefined ? gateway.tenants.issuerOf(tenantId) : undefined;
  if (elsewhere !== undefined)
    return reply.header('cache-control', 'no-store').redirect(elsewhere + accountPath(), 302);
  const person = await signedInPerson(context);
  if (person === undefined) {
    if (readQuery(request).has('closed')) return sendClosed(context);
    const problem = await tenantProblem(context, tenantId);
    if (problem === undefined) return sendSignIn(context, signInFor(tenantId), undefined);
    return sendTenantForm(context, {
      path: otherPaths.account,
      purpose: 'see your account',
      lead: 'Your administrator can tell you its name.',
      typed: tenantId,
      problem,
      fields: [],
    });
  }
  if (tenantId !== '' && tenantId !== person.session.tenantId)
    return sendElsewhere(context, signInFor(tenantId));
  return sendAccount(context, person.session);
};

/** `POST /account`: signs in, or makes a change. */
const act: PageHandler = async (context) => {
  const { app, request } = context;
  const form = readForm(request);
  if (pageOfForm(form) !== undefined) {
    const tenantId = shownParameter(form, 'tenant');
    const visit = visitOf(shownParameter(form, 'visit'));
    const place = signInFor(tenantId, visit);
    checkForm(app, request, form, place.purpose);
    const answer = await continueSignIn(context, place, form);
    if (answer !== 'signed_in') return answer;
    return back(context, visit === 'change' ? 'confirmed' : undefined, tenantId);
  }
  const person = await signedInPerson(context);
  // Signed out meanwhile.
  if (person === undefined) return back(context);
  const { session } = person;
  const [name, target] = [shownParameter(form, 'change'), shownParameter(form, 'target')];
  checkForm(app, request, form, purpose.changeAccount(session.userId, name, target));
  const changes = new Map(sections.flatMap((section) => Object.entries(section.changes)));
  const change = changes.get(name);
  if (change === undefined) throw new OAuthError('invalid_request', 'There is no such change.');
  const confirmation = sections
    .map(({ confirmed }) => confirmed?.[name])
    .find((found) => found !== undefined);
  if (confirmation !== undefined && form.get('confirmed') !== 'yes')
    return sendConfirmation(context, session, { name, target }, confirmation);
  const result = await change(context, { session, target, form });
  if (result === 'closed') {
    dropCookie(request, context.reply, 'session');
    return redirectToPage(context.reply, `${accountPath()}?closed=1`);
  }
  if (typeof result === 'string') return back(context, result, session.tenantId);
  if ('location' in result)
    return context.reply.header('cache-control', 'no-store').redirect(result.location, 303);
  return sendSignIn(context, signInFor(session.tenantId, result.visit), person);
};

export const accountPage = { load, act } satisfies GatewayPage;

/** Shows what a change ends, and asks for it once more. */
function sendConfirmation(
  context: PageContext,
  { tenantId, userId }: Session,
  { name, target }: { readonly name: string; readonly target: string },
  { title, message, label }: Confirmation,
): FastifyReply {
  const { request, reply, gateway, row } = context;
  return sendPage(request, reply, gateway, {
    template: 'kit/confirm',
    title,
    message,
    formTarget: row.formTarget,
    tenant: { id: tenantId },
    data: {
      label,
      path: row.path,
      back: accountPath(request.incoming.tenant === undefined ? tenantId : undefined),
      fields: fieldsOfForm(context, purpose.changeAccount(userId, name, target), [
        { name: 'change', value: name },
        { name: 'target', value: target },
        { name: 'confirmed', value: 'yes' },
      ]),
    },
  });
}

/** Lifetime in seconds of the cookie with the result for the next page. */
const resultSeconds = 60;

/** `tenantId`: where the person signs in again, by the address that the browser keeps. */
function back({ request, reply }: PageContext, result?: AccountResult, tenantId?: string): FastifyReply {
  if (result !== undefined) writeCookie(request, reply, 'accountResult', result, resultSeconds);
  const isShared = request.incoming.tenant === undefined;
  return redirectToPage(reply, accountPath(isShared ? tenantId : undefined));
}

function sendClosed({ request, reply, gateway }: PageContext): FastifyReply {
  return sendPage(request, reply, gateway, {
    template: 'notice',
    title: 'Your account is closed',
    message: 'You are signed out everywhere, and applications no longer have access.',
    formTarget: 'own',
    data: { advice: 'You can close this page.', onward: 'Sign in with another account' },
  });
}

/** Goes on after a sign-in at a provider. */
export function resumeAccount(context: PageContext, fields: ReadonlyMap<string, string>): ResumedPlace {
  const [tenantId, visit] = [shownParameter(fields, 'tenant'), visitOf(shownParameter(fields, 'visit'))];
  return {
    place: signInFor(tenantId, visit),
    signedIn: () => back(context, visit === 'change' ? 'confirmed' : undefined, tenantId),
  };
}

/** Goes on after an answer to a link. */
export function resumeLink(
  context: PageContext,
  fields: ReadonlyMap<string, string>,
  problem: string,
): FastifyReply {
  return back(context, resultOfLink(problem), shownParameter(fields, 'tenant'));
}

/** What the pages of a sign-in are for, by the visit. */
const visits = {
  see: {
    name: OwnPage_Name.ACCOUNT,
    lead: 'See your account at <b>{name}</b>.',
  },
  change: {
    name: OwnPage_Name.ACCOUNT_CHANGE,
    lead: 'Change how you sign in to your account at <b>{name}</b>.',
  },
  add_passkey: {
    name: OwnPage_Name.ADD_PASSKEY,
    lead: 'Add a passkey to your account at <b>{name}</b>.',
  },
  add_totp: {
    name: OwnPage_Name.ADD_TOTP,
    lead: 'Protect your account at <b>{name}</b> with an authenticator app.',
  },
  new_recovery_codes: {
    name: OwnPage_Name.NEW_RECOVERY_CODES,
    lead: 'Get new recovery codes for your account at <b>{name}</b>.',
  },
} as const satisfies Record<'see' | AccountVisit, object>;

function visitOf(name: string): keyof typeof visits {
  return Object.hasOwn(visits, name) ? (name as keyof typeof visits) : 'see';
}

function signInFor(tenantId: string, visit: keyof typeof visits = 'see') {
  const { name, lead } = visits[visit];
  return signInToPage({
    path: otherPaths.account,
    page: { name, tenantId },
    lead,
    subject: visit === 'see' ? tenantId : `${tenantId}\0${visit}`,
    fields: [
      { name: 'tenant', value: tenantId },
      { name: 'visit', value: visit },
    ],
  });
}

async function sendAccount(context: PageContext, { tenantId, userId }: Session): Promise<FastifyReply> {
  const { app, request, reply, gateway, row } = context;
  const { account } = await gateway.peers.account.getAccount(
    { browser: browserContext(app, request) },
    rootCall(request.incoming.requestId),
  );
  const session = account?.session;
  // It ended since it was looked at.
  if (account === undefined || session === undefined)
    return sendSignIn(context, signInFor(tenantId), undefined);
  const view: AccountView = {
    context,
    account,
    session,
    fieldsOf: (change, target = '') =>
      fieldsOfForm(context, purpose.changeAccount(userId, change, target), [
        { name: 'change', value: change },
        { name: 'target', value: target },
      ]),
  };
  const shown = await Promise.all(sections.map(async ({ name, show }) => [name, await show(view)] as const));
  const result = readCookie(app, request, 'accountResult');
  if (result !== '') dropCookie(request, reply, 'accountResult');
  return sendPage(request, reply, gateway, {
    template: 'account',
    title: row.title,
    message: 'This is your account.',
    // A form of it leads to a provider.
    formTarget: account.providers.length > 0 ? 'client' : 'own',
    script: true,
    tenant: { id: tenantId, name: '' },
    data: {
      notice: accountNotice(result),
      ...Object.fromEntries(shown),
      passwordPath: otherPaths.password,
      person: { name: personName(session), tenantId },
      signOut: fieldsOfForm(context, purpose.signOut, [
        { name: 'going', value: 'account' },
        { name: 'tenant', value: tenantId },
        ...(account.providers.length > 0 ? [{ name: 'signs_out', value: 'provider' }] : []),
      ]),
    },
  });
}
