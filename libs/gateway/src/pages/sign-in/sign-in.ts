import type { FastifyReply } from 'fastify';
import { notUnderstood, rootCall, type CallOptions } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import type { ContinueResponse, Interaction, Step } from '@tessera/proto-gen/authorize';
import { redirectToPage, withParameters, type Field } from '@tessera/pages';
import { browserContext } from '../browser-context.ts';
import { countMailRequest } from '../count-mail-request.ts';
import { waitForOthers } from '../../http/waiting-for-others.ts';
import { sendMismatch } from './mismatch.ts';
import { fieldsOfForm, purpose } from '../form.ts';
import { requestAgain, showingPage } from './carried-request.ts';
import { organizationName } from '../looks/tenant-looks.ts';
import type { PageContext } from '../page-context.ts';
import { type Page, problemSentence, sendPage, sendPageError } from '../send-page.ts';
import { requireBrowserId, servesTenant, type Person } from '../signed-in-person.ts';
import { loginPath } from '../paths.ts';
import { giveSession } from '../session.ts';
import type { PlaceOfPage, SignInPlace } from './sign-in-place.ts';
import { sendToClient } from './to-client.ts';
import { passkeyAsked } from './steps/passkey-pages.ts';
import { passwordPage } from './steps/password-page.ts';
import { offeredProviders, providerPage, unknownDomain } from './steps/provider-page.ts';
import { buttonsOf, pageOfForm, pageOfStep } from './steps/step-pages.ts';

/** Shows the first page of a sign-in. `person`: who must sign in again; `error`: why their sign-in is too old. */
export async function sendSignIn(
  context: PageContext,
  place: PlaceOfPage,
  person: Person | undefined,
  error?: OAuthError,
): Promise<FastifyReply> {
  const { app, request, gateway } = context;
  const { next } = await gateway.peers.authorize.begin(
    {
      browser: browserContext(app, request, requireBrowserId(context)),
      visit: { case: 'page', value: place.page },
    },
    rootCall(request.incoming.requestId),
  );
  // The person has just signed in, and nothing is left to do.
  if (next?.next.case === 'done') return redirectToPage(context.reply, place.home ?? place.path);
  if (next?.next.case !== 'step') throw notUnderstood('how a sign-in begins');
  const isFirst = next.next.value.name === passwordPage.name;
  return sendStep(context, place, next.next.value, { person, error, isFirst });
}

/**
 * Judges the form of a step. Answers with the page of what comes next, unless nothing more is required at a page of
 * ours. There a sign-in that is over, as Redis may forget it, begins anew; at `/login` it throws `invalid_request`.
 */
export async function continueSignIn(
  context: PageContext,
  place: SignInPlace,
  form: ReadonlyMap<string, string>,
): Promise<'signed_in' | FastifyReply> {
  const { app, request, gateway } = context;
  if (place.page !== undefined && !servesTenant(context, place.page.tenantId)) {
    throw new OAuthError('invalid_request', 'The tenant is not served at this address.');
  }
  const page = pageOfForm(form) ?? passwordPage;
  const fields = Object.fromEntries(page.fields.map((name) => [name, form.get(name) ?? '']));
  const leaves = page === providerPage;
  const visit = visitOf(place, form);
  try {
    if (page.asksForMail?.(form) === true) await countMailRequest(context);
    const given = {
      browser: browserContext(app, request),
      visit,
      step: page.name,
      fields: leaves ? { ...fields, resume: resumeOf(place) } : fields,
    };
    const go = async (options: CallOptions) => gateway.peers.authorize.continue(given, options);
    const answer = await (leaves
      ? waitForOthers(request, gateway, go)
      : go(rootCall(request.incoming.requestId)));
    return await sendNext(context, place, answer, form);
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'rate_limited')
      return sendWait(context, place, { visit, form, error });
    const isOver = error instanceof OAuthError && error.code === 'invalid_request';
    if (!isOver || place.page === undefined || visit.case === 'page') throw error;
    return sendSignIn(context, { ...place, page: place.page }, undefined, error);
  }
}

/** Shows the step again, with what was typed and the ways that still work, and says when its form works again. */
async function sendWait(
  context: PageContext,
  place: SignInPlace,
  refused: {
    readonly visit: ReturnType<typeof visitOf>;
    readonly form: ReadonlyMap<string, string>;
    readonly error: OAuthError;
  },
): Promise<FastifyReply> {
  const { app, request, gateway } = context;
  const { visit, form, error } = refused;
  const { authorize } = gateway.peers;
  const call = rootCall(request.incoming.requestId);
  const found =
    visit.case === 'page'
      ? (
          await authorize.begin(
            { browser: browserContext(app, request, requireBrowserId(context)), visit },
            call,
          )
        ).next?.next
      : {
          case: 'step' as const,
          value: (
            await authorize.getInteraction(
              { browser: browserContext(app, request), interactionId: visit.value },
              call,
            )
          ).step,
        };
  if (found?.case !== 'step' || found.value === undefined) throw error;
  const isFirst = visit.case === 'page' && found.value.name === passwordPage.name;
  return sendStep(context, place, found.value, { form, error, isFirst });
}

/** What a place of ours needs when the browser comes back from a provider. */
function resumeOf({ page, path, fields }: SignInPlace): string {
  if (page === undefined) return '';
  return new URLSearchParams([
    ['going', path.slice(1)],
    ...fields.map(({ name, value }) => [name, value]),
  ]).toString();
}

/** Answers with what comes next in a sign-in. `form` is one that may have been refused. */
export async function sendNext(
  context: PageContext,
  place: SignInPlace,
  { next, session }: Pick<ContinueResponse, 'next' | 'session'>,
  form?: ReadonlyMap<string, string>,
): Promise<'signed_in' | FastifyReply> {
  if (session !== undefined) await giveSession(context, session);
  switch (next?.next.case) {
    case 'done':
      return 'signed_in';
    case 'redirect':
      return sendToClient(context, next.next.value);
    case 'tenantMismatch':
      return sendElsewhere(context, place, next.next.value.interaction);
    case 'step':
      return sendStep(context, place, next.next.value, form === undefined ? {} : { form });
    default:
      throw notUnderstood('what comes next in a sign-in');
  }
}

/** The visit that a form names, else the first form at a page of ours. */
function visitOf({ page }: SignInPlace, form: ReadonlyMap<string, string>) {
  const interactionId = form.get('interaction') ?? '';
  if (page === undefined || interactionId !== '') {
    return { case: 'interactionId', value: interactionId } as const;
  }
  return { case: 'page', value: page } as const;
}

/** Says that the browser is signed in to another tenant, and offers to sign out and continue. */
export function sendElsewhere(
  context: PageContext,
  { page, path, formTarget, fields }: SignInPlace,
  interaction?: Interaction,
): FastifyReply {
  const { request, reply, gateway } = context;
  const browserId = requireBrowserId(context);
  if (page === undefined) {
    const resume = [{ name: 'interaction', value: interaction?.interactionId ?? '' }];
    return sendMismatch({ request, reply, gateway, browserId, interaction, formTarget, resume });
  }
  const resume = [{ name: 'going', value: path.slice(1) }, ...fields];
  const { tenantId } = page;
  return sendMismatch({ request, reply, gateway, browserId, tenantId, formTarget, resume });
}

/**
 * Where the browser gets the page of a sign-in anew: as it is, or once it is over the one that begins it again. The
 * first page asks for a sign-in in any case: a session that another window began must not issue a code here.
 */
function addressesAnew(place: SignInPlace, interactionId: string, step: string): readonly string[] {
  const { page: known, path, home = path, fields } = place;
  if (known !== undefined) return [withParameters(home, { tenant: known.tenantId })];
  const again = requestAgain(new Map(fields.map(({ name, value }) => [name, value])));
  const page = loginPath(interactionId, again?.text);
  if (again?.path === undefined) return [page];
  return [page, step === passwordPage.name ? showingPage(again.path) : again.path];
}

/** The form with which somebody else begins the request anew; undefined where it cannot. */
function signOutToBegin(context: PageContext, { fields }: SignInPlace): Field[] | undefined {
  const carried = new Map(fields.map(({ name, value }) => [name, value]));
  const query = requestAgain(carried)?.path?.split('?')[1];
  return query === undefined
    ? undefined
    : fieldsOfForm(context, purpose.signOut, [{ name: 'continue', value: query }]);
}

/** Shows the page of a step. `form` is one that may have been refused. */
export async function sendStep(
  context: PageContext,
  place: SignInPlace,
  { name, interaction, problem, shown }: Step,
  to: {
    readonly form?: ReadonlyMap<string, string>;
    readonly person?: Person | undefined;
    readonly error?: OAuthError | undefined;
    /** Whether the visit has just begun at a page of ours: a password needs none that is stored, as that ends. */
    readonly isFirst?: boolean;
  },
): Promise<FastifyReply> {
  const { request, reply, gateway } = context;
  const step = pageOfStep(name);
  if (step === undefined || interaction === undefined) throw notUnderstood(`the step ${name} of a sign-in`);
  // Something else may have been sent in place of what the page asks for.
  const sent = to.form === undefined ? providerPage : pageOfForm(to.form);
  const refused = problem === '' ? undefined : (step.problems[problem] ?? sent?.problems[problem]);
  const providers = offeredProviders(shown);
  const passkey = passkeyAsked(shown);
  const { person, error, isFirst } = to;
  const isShownAgain = refused !== undefined || error !== undefined || problem === unknownDomain;
  const view = { shown, person, form: isShownAgain ? to.form : undefined };
  const tenantId = place.page?.tenantId ?? interaction.tenantId;
  const tenantName = await organizationName(gateway, tenantId, interaction.tenantName);
  const called = { ...interaction, tenantName };
  const [lead, leadName] = place.lead(called);
  const { interactionId } = interaction;
  const page: Page = {
    template: step.name,
    title: step.title(view),
    message: place.message(called),
    // Chromium applies it to where a provider sends the browser, too.
    formTarget: providers === undefined ? place.formTarget : 'client',
    script: passkey !== undefined || step.script === true,
    tenant: { id: tenantId, name: tenantName },
    ...(interaction.uiLocales === '' ? {} : { uiLocales: interaction.uiLocales }),
    data: {
      path: place.path,
      home: place.home,
      lead,
      leadName,
      problem: refused?.message ?? (error && problemSentence(error)),
      tried: to.form && sent?.name,
      isLocked: error?.code === 'rate_limited',
      providers,
      buttons: buttonsOf(shown),
      passkey: passkey && {
        ...passkey,
        interactionId: isFirst && interactionId,
        fresh: addressesAnew(place, interactionId, name),
      },
      ...step.data(view),
      ...(await step.load?.(context, { interaction, shown })),
      ...(step.offersOthers && { others: signOutToBegin(context, place) }),
      fields: fieldsOfForm(context, place.purpose, [
        ...place.fields,
        ...(interactionId === '' || isFirst ? [] : [{ name: 'interaction', value: interactionId }]),
      ]),
    },
  };
  if (refused !== undefined) {
    const refusal = new OAuthError('access_denied', refused.message);
    return sendPageError(request, reply, gateway, refusal, { ...page, status: refused.status });
  }
  return error === undefined
    ? sendPage(request, reply, gateway, page)
    : sendPageError(request, reply, gateway, error, page);
}
