import type { JWTPayload } from 'jose';
import { invalidAnswer } from '../methods/upstream/provider-refusals.ts';
import { sidOf } from '../methods/upstream/upstream-session.ts';

/** What a logout token says is over. */
export interface SaidOver {
  /** Of the session; undefined: all of the person. */
  readonly sid: string | undefined;
  /** The person; undefined for anybody who has the session. */
  readonly subject: string | undefined;
  readonly jti: string;
}

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/**
 * The checks of OIDC Back-Channel Logout §2.6 after those of signature, issuer, audience and times. Throws
 * ProviderAnswerError.
 */
export function saidOver({ events, jti, sid, sub, ...others }: JWTPayload): SaidOver {
  if (!isObject(events) || !Object.hasOwn(events, logoutEvent) || !isObject(events[logoutEvent]))
    throw invalidAnswer('it has not the event of a logout');
  // Or an ID token could be sent in its place.
  if ('nonce' in others) throw invalidAnswer('it has a nonce');
  if (sidOf(jti) === undefined) throw invalidAnswer('it has no usable jti');
  for (const claim of [sid, sub])
    if (claim !== undefined && sidOf(claim) === undefined) throw invalidAnswer('its sid or sub is unusable');
  if (sid === undefined && sub === undefined) throw invalidAnswer('it has neither sid nor sub');
  return { sid: sidOf(sid), subject: sub, jti: jti ?? '' };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
