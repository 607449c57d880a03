import type { FastifyReply } from 'fastify';
import { OAuthError } from '@tessera/oauth';
import type { AnswerFromProviderResponse } from '@tessera/proto-gen/authorize';
import { parseForm, rawQuery } from '@tessera/pages';
import { isTenantId } from '../tenant-form.ts';
import { browserContext } from '../browser-context.ts';
import type { PageContext, PageHandler } from '../page-context.ts';
import { sendOver, signInAtLogin } from './login.ts';
import { waitForOthers } from '../../http/waiting-for-others.ts';
import type { ResumedPlace } from './resumed-place.ts';
import { sendNext } from './sign-in.ts';

/** The pages of ours that people go on to. */
export interface OwnPlaces {
  /** After a sign-in, by the field `going`. */
  readonly going: Readonly<
    Record<string, (context: PageContext, fields: ReadonlyMap<string, string>) => Promise<ResumedPlace>>
  >;
  /** After an answer to a link; `problem` is why nothing is linked, or empty. */
  link(context: PageContext, fields: ReadonlyMap<string, string>, problem: string): Promise<FastifyReply>;
}

/**
 * `GET /login/provider/:tenant/:provider`: what a provider answers (OIDC Core §3.1.2.5). The rules are those of
 * `authorize`; an answer that this browser did not ask for gets a page that says how to go on.
 */
export function createAnswerFromProvider(own: OwnPlaces): PageHandler {
  return async (context) => {
    const { tenant = '', provider = '' } = context.request.params as Record<string, string>;
    if (!isTenantId(tenant) || !isTenantId(provider)) throw new OAuthError('not_found', 'Not found.');
    const answer = await judged(context);
    if (answer === undefined)
      return sendOver(context, new OAuthError('invalid_request', unexpected), undefined);
    const { linkProblem } = answer;
    if (linkProblem !== undefined) return own.link(context, parseForm(answer.resume), linkProblem);
    const { place, signedIn } = await resumed(context, own, answer);
    const sent = await sendNext(context, place, answer);
    return sent === 'signed_in' ? signedIn() : sent;
  };
}

/** Undefined if it belongs to no sign-in of this browser. */
async function judged({
  app,
  request,
  gateway,
}: PageContext): Promise<AnswerFromProviderResponse | undefined> {
  const { tenant: tenantId = '', provider = '' } = request.params as Record<string, string>;
  try {
    return await waitForOthers(request, gateway, async (options) =>
      gateway.peers.authorize.answerFromProvider(
        { browser: browserContext(app, request), tenantId, provider, query: rawQuery(request) },
        options,
      ),
    );
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_request') return undefined;
    throw error;
  }
}

async function resumed(
  context: PageContext,
  { going }: OwnPlaces,
  { next, resume }: AnswerFromProviderResponse,
): Promise<ResumedPlace> {
  const fields = parseForm(resume);
  const place = going[fields.get('going') ?? ''];
  if (place !== undefined) return place(context, fields);
  const shown = next?.next;
  const isOfVisit = shown?.case === 'step' || shown?.case === 'tenantMismatch';
  const interactionId = isOfVisit ? shown.value.interaction?.interactionId : undefined;
  return {
    place: signInAtLogin(interactionId ?? ''),
    signedIn: () => {
      throw new OAuthError('server_error', 'The sign-in could not be completed.');
    },
  };
}

const unexpected = 'This answer belongs to no sign-in of this browser, or came too late.';
