import type { CheckedRequest } from '../request/request.ts';
import type { Session } from '../store/session-store.ts';
import type { KnownPerson, Visit } from '../store/visit-store.ts';
import type { KnownVisit, StepResult, Verified } from './step.ts';

/** Whether the session belongs to the person of the `id_token_hint`, if there is one (OIDC Core §3.1.2.1). */
export function isHintedUser(
  { hintedUserId }: Pick<CheckedRequest, 'hintedUserId'>,
  { userId }: Pick<Session, 'userId'>,
): boolean {
  return hintedUserId === '' || hintedUserId === userId;
}

/**
 * Whether a session says who the person of a request is (OIDC Core §3.1.2.1 and §3.1.2.3).
 */
export function serves(
  request: Pick<CheckedRequest, 'prompt' | 'maxAge' | 'hintedUserId'>,
  session: Session,
): boolean {
  if (!isHintedUser(request, session)) return false;
  if (request.prompt.has('login') || request.prompt.has('select_account')) return false;
  return request.maxAge === undefined || session.authAge <= request.maxAge;
}

/** The visit of a person whom a session knows. */
export function withSession<V extends KnownVisit>(
  visit: V,
  { sessionId, userId, authentication }: Session,
): V & { readonly person: KnownPerson } {
  const { time, methods } = authentication;
  return { ...visit, person: { userId, signedInAt: time * 1000, methods, sessionId } };
}

/**
 * The visit as it is now: the person of a session that the browser no longer has, or that has become too old, is not
 * known.
 */
export function withoutLostSession(
  visit: Visit,
  present: Session | undefined,
  request: CheckedRequest | undefined,
): Visit {
  const sessionId = visit.person?.sessionId;
  const counts = present !== undefined && (request === undefined || serves(request, present));
  return sessionId === undefined || (counts && sessionId === present.sessionId)
    ? visit
    : { ...visit, person: undefined, totpStep: undefined, sent: undefined, done: [] };
}

/** The visit after a step. Throws if the step verified another person than the one who is known. */
export function advance(
  visit: Visit,
  step: string,
  result: Exclude<StepResult, { outcome: 'refused' | 'changed' | 'declined' | 'sent' }>,
): Visit {
  // As after a step that verified the person: the session that knew them is replaced when the visit ends.
  if (result.outcome === 'checked')
    return { ...visit, ...result.learned, person: visit.person && { ...visit.person, sessionId: undefined } };
  const done = [...visit.done, step];
  if (result.outcome === 'agreed') return { ...visit, done };
  return { ...visit, ...result.learned, done, person: identified(visit.person, result) };
}

/**
 * All methods that identified the person, and the time of the first: a password that was changed after it ends the
 * sign-in. The session that knew the person does not know of the new method, so that a new one is opened.
 */
function identified(
  known: KnownPerson | undefined,
  { user, signedInAt, methods, upstream = known?.upstream }: Verified,
): KnownPerson {
  const { userId } = user;
  const session = upstream && { upstream };
  if (known === undefined) return { userId, signedInAt, methods, ...session };
  if (known.userId !== userId) throw new Error('a step verified another person');
  const all = [...new Set([...known.methods, ...methods])];
  return { userId, signedInAt: known.signedInAt, methods: all, ...session };
}
