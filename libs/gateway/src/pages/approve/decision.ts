import type { FastifyReply } from 'fastify';
import type { CallOptions } from '@tessera/rpc';
import { rootCall } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import { Decision } from '@tessera/proto-gen/device';
import type { Authentication } from '@tessera/proto-gen/oauth';
import { shownParameter } from '@tessera/pages';
import { dropCookie, readCookie, writeCookie } from '../../http/cookies.ts';
import { checkForm, purpose } from '../form.ts';
import type { PageContext } from '../page-context.ts';
import type { Person } from '../signed-in-person.ts';
import type { PlaceOfPage } from '../sign-in/sign-in-place.ts';
import { sendSignIn } from '../sign-in/sign-in.ts';

/** The result of a decision; `over` if the request had ended before. */
export type Outcome = 'approved' | 'denied' | 'over';

/** Lifetime in seconds of the cookie with the result for the next page. */
const outcomeSeconds = 60;

export interface DecisionCall {
  readonly requestId: string;
  readonly decision: Decision;
  readonly approver: {
    readonly tenantId: string;
    readonly userId: string;
    readonly sessionId: string;
    readonly authentication?: Authentication;
    readonly ipAddress: string;
  };
}

/**
 * Submits the decision of a form for `person` and keeps the outcome for the next page. If their sign-in does not count
 * for the application, nothing is decided: they are shown the form of `signInFor` it. Throws `access_denied` for a form
 * that is not this browser's own, `invalid_request` if the decision is missing or differs from an earlier one.
 */
export async function decideFromForm(
  context: PageContext,
  form: ReadonlyMap<string, string>,
  person: Person,
  signInFor: (clientId: string) => PlaceOfPage,
  decide: (call: DecisionCall, options: CallOptions) => Promise<unknown>,
): Promise<'decided' | FastifyReply> {
  const { app, request, reply } = context;
  const requestId = form.get('request') ?? '';
  checkForm(app, request, form, purpose.decide(requestId));
  const decision = decisionOf(form.get('decision'));
  const { tenantId, userId, sessionId, authentication } = person.session;
  const { ipAddress } = request.incoming;
  const how = authentication !== undefined && { authentication };
  const approver = { tenantId, userId, sessionId, ...how, ipAddress };
  let outcome: Outcome = decision === Decision.APPROVE ? 'approved' : 'denied';
  try {
    await decide({ requestId, decision, approver }, rootCall(request.incoming.requestId));
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    if (error.code === 'login_required') {
      return sendSignIn(context, signInFor(shownParameter(form, 'client_id')), person, error);
    }
    if (error.code !== 'not_found') throw error;
    outcome = 'over';
  }
  writeCookie(request, reply, 'decided', outcome, outcomeSeconds);
  return 'decided';
}

/** `approve` or `deny`. Throws `invalid_request`. */
export function decisionOf(text: string | undefined): Decision {
  if (text === 'approve') return Decision.APPROVE;
  if (text === 'deny') return Decision.DENY;
  throw new OAuthError('invalid_request', 'The decision must be approve or deny.');
}

/** How the decision before this page ended, once. */
export function takeOutcome({ app, request, reply }: PageContext): Outcome | undefined {
  const outcome = readCookie(app, request, 'decided');
  if (outcome === '') return undefined;
  dropCookie(request, reply, 'decided');
  return outcome as Outcome;
}
