import type { FastifyReply } from 'fastify';
import { OAuthError } from '@tessera/oauth';
import type { Account } from '@tessera/proto-gen/account';
import type { Session } from '@tessera/proto-gen/authorize';
import { rootCall } from '@tessera/rpc';
import { navigationBeside, readForm, readQuery, redirectToPage, shownParameter } from '@tessera/pages';
import { dropCookie, readCookie, writeCookie } from '../../http/cookies.ts';
import { sendTenantForm, tenantProblem } from '../tenant-form.ts';
import { browserContext } from '../browser-context.ts';
import { checkForm, fieldsOfForm, purpose } from '../form.ts';
import { organizationName } from '../looks/tenant-looks.ts';
import type { GatewayPage, PageContext } from '../page-context.ts';
import { sendPage } from '../send-page.ts';
import { accountPageNamed, accountPath, accountPaths, type AccountPageName } from '../paths.ts';
import { personName, signedInPerson } from '../signed-in-person.ts';
import type { ResumedPlace } from '../sign-in/resumed-place.ts';
import { continueSignIn, sendElsewhere, sendSignIn } from '../sign-in/sign-in.ts';
import { pageOfForm } from '../sign-in/steps/step-pages.ts';
import { accountNotice, resultOfLink, type AccountResult } from './sections/account-results.ts';
import type {
  AccountContent,
  AccountSection,
  AccountView,
  Confirmation,
} from './sections/account-section.ts';
import { signInForAccount, visitOf } from './account-visits.ts';

/**
 * A page of the account: people see and change what is theirs, once they are signed in at the tenant that the address
 * or they name.
 * @param before pages whose forms were sent here before they had addresses of their own
 */
export function accountPage(content: AccountContent, before: readonly AccountContent[] = []) {
  const known = [content, ...before];
  return {
    load: (context) => load(context, content),
    act: (context) => act(context, known),
  } satisfies GatewayPage;
}

async function load(context: PageContext, content: AccountContent): Promise<FastifyReply> {
  const { request, reply, gateway } = context;
  const tenantId = request.incoming.tenant?.tenantId ?? shownParameter(readQuery(request), 'tenant');
  const elsewhere = request.incoming.tenant === undefined ? gateway.tenants.issuerOf(tenantId) : undefined;
  if (elsewhere !== undefined) {
    const there = elsewhere + accountPath(undefined, content.name);
    return reply.header('cache-control', 'no-store').redirect(there, 302);
  }
  const person = await signedInPerson(context);
  const place = signInForAccount(tenantId, content.name);
  if (person === undefined) {
    if (readQuery(request).has('closed')) return sendClosed(context);
    const problem = await tenantProblem(context, tenantId);
    if (problem === undefined) return sendSignIn(context, place, undefined);
    return sendTenantForm(context, {
      path: accountPaths[content.name],
      purpose: 'see your account',
      lead: 'Your administrator can tell you its name.',
      typed: tenantId,
      problem,
      fields: [],
    });
  }
  if (tenantId !== '' && tenantId !== person.session.tenantId) return sendElsewhere(context, place);
  return sendAccount(context, content, person.session);
}

/** Signs in, or makes a change that a form of one of these pages asks for. */
async function act(context: PageContext, known: readonly AccountContent[]): Promise<FastifyReply> {
  const { app, request } = context;
  const form = readForm(request);
  if (pageOfForm(form) !== undefined) return continueToAccount(context, form);
  const person = await signedInPerson(context);
  const [here] = known;
  // Signed out meanwhile.
  if (person === undefined) return back(context, here?.name);
  const { session } = person;
  const [name, target] = [shownParameter(form, 'change'), shownParameter(form, 'target')];
  checkForm(app, request, form, purpose.changeAccount(session.userId, name, target));
  const found = known
    .flatMap(({ name: page, sections }) => sections.map((section) => ({ page, section })))
    .find(({ section }) => Object.hasOwn(section.changes, name));
  const change = found?.section.changes[name];
  if (found === undefined || change === undefined)
    throw new OAuthError('invalid_request', 'There is no such change.');
  const { page, section } = found;
  const confirmation = section.confirmed?.[name];
  if (confirmation !== undefined && form.get('confirmed') !== 'yes')
    return sendConfirmation(context, session, { page, name, target }, confirmation);
  const result = await change(context, { session, target, form });
  if (result === 'closed') {
    dropCookie(request, context.reply, 'session');
    return redirectToPage(context.reply, `${accountPath()}?closed=1`);
  }
  if (typeof result === 'string') return back(context, page, result, session.tenantId);
  if ('location' in result)
    return context.reply.header('cache-control', 'no-store').redirect(result.location, 303);
  return sendSignIn(context, signInForAccount(session.tenantId, page, result.visit), person);
}

async function continueToAccount(
  context: PageContext,
  form: ReadonlyMap<string, string>,
): Promise<FastifyReply> {
  const { place, signedIn } = resumeAccount(context, form);
  checkForm(context.app, context.request, form, place.purpose);
  const answer = await continueSignIn(context, place, form);
  return answer === 'signed_in' ? signedIn() : answer;
}

/** Goes on after a form of a sign-in, or a sign-in at a provider. */
export function resumeAccount(context: PageContext, fields: ReadonlyMap<string, string>): ResumedPlace {
  const [tenantId, visit] = [shownParameter(fields, 'tenant'), visitOf(shownParameter(fields, 'visit'))];
  const page = accountPageNamed(shownParameter(fields, 'page'));
  return {
    place: signInForAccount(tenantId, page, visit),
    signedIn: () => back(context, page, visit === 'change' ? 'confirmed' : undefined, tenantId),
  };
}

/** Goes on after an answer to a link. */
export function resumeLink(
  context: PageContext,
  fields: ReadonlyMap<string, string>,
  problem: string,
): FastifyReply {
  return back(context, 'sign-in', resultOfLink(problem), shownParameter(fields, 'tenant'));
}

/** Shows what a change ends, and asks for it once more. */
async function sendConfirmation(
  context: PageContext,
  { tenantId, userId }: Session,
  { page, name, target }: { readonly page: AccountPageName; readonly name: string; readonly target: string },
  { title, message, label, subject }: Confirmation,
): Promise<FastifyReply> {
  const { request, reply, gateway, row } = context;
  const account = subject && (await presentAccount(context));
  return sendPage(request, reply, gateway, {
    template: 'kit/confirm',
    title,
    message,
    formTarget: row.formTarget,
    tenant: { id: tenantId },
    data: {
      label,
      subject: account && (await subject?.({ context, account }, target)),
      path: row.path,
      back: accountPath(request.incoming.tenant === undefined ? tenantId : undefined, page),
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
function back(
  { request, reply }: PageContext,
  page: AccountPageName | undefined,
  result?: AccountResult,
  tenantId?: string,
): FastifyReply {
  if (result !== undefined) writeCookie(request, reply, 'accountResult', result, resultSeconds);
  const isShared = request.incoming.tenant === undefined;
  return redirectToPage(reply, accountPath(isShared ? tenantId : undefined, page));
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

/** Undefined once nobody is signed in. */
async function presentAccount({ app, request, gateway }: PageContext): Promise<Account | undefined> {
  const browser = browserContext(app, request);
  const { account } = await gateway.peers.account.getAccount(
    { browser },
    rootCall(request.incoming.requestId),
  );
  return account;
}

async function sendAccount(
  context: PageContext,
  { name, template, sections }: AccountContent,
  { tenantId, userId }: Session,
): Promise<FastifyReply> {
  const { app, request, reply, gateway, row } = context;
  const account = await presentAccount(context);
  const session = account?.session;
  // It ended since it was looked at.
  if (account === undefined || session === undefined)
    return sendSignIn(context, signInForAccount(tenantId, name), undefined);
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
  const result = readCookie(app, request, 'accountResult');
  if (result !== '') dropCookie(request, reply, 'accountResult');
  return sendPage(request, reply, gateway, {
    template,
    title: row.title,
    message: 'This is your account.',
    // A form of it leads to a provider.
    formTarget: account.providers.length > 0 ? 'client' : 'own',
    script: true,
    tenant: { id: tenantId, name: '' },
    navigation: navigationFor(context, tenantId),
    data: {
      path: row.path,
      notice: accountNotice(result),
      ...(await shownBy(sections, view)),
      person: { name: personName(session), organization: await organizationName(gateway, tenantId) },
      signOut: fieldsOfForm(context, purpose.signOut, [
        { name: 'going', value: 'account' },
        { name: 'tenant', value: tenantId },
        ...(account.providers.length > 0 ? [{ name: 'signs_out', value: 'provider' }] : []),
      ]),
    },
  });
}

/** The tenant in its addresses says where to sign in, once the session is over. */
function navigationFor({ request, rows, row }: PageContext, tenantId: string) {
  const query =
    request.incoming.tenant === undefined ? `?${new URLSearchParams({ tenant: tenantId }).toString()}` : '';
  return navigationBeside(rows, row).map((item) => ({ ...item, path: item.path + query }));
}

async function shownBy(
  sections: readonly AccountSection[],
  view: AccountView,
): Promise<Readonly<Record<string, object>>> {
  const shown = await Promise.all(sections.map(async ({ name, show }) => [name, await show(view)] as const));
  return Object.fromEntries(shown);
}
