import { createHmac, timingSafeEqual } from 'node:crypto';
import { opaqueValue, type Random } from '@tessera/kit';
import { digest } from '../../browser-call.ts';
import type { Departure, Visit } from '../../store/visit-store.ts';

/** What binds an answer to the visit that asked for it. */
export interface Ticket {
  /** Random; the last part of `state`. */
  readonly ticket: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

const ticketShape = /^[\w-]{22}$/;
const stateShape = /^(ti_[\w-]{43})\.([\w-]{22})$/;

/** A ticket for a visit with a seed. */
export function newTicket(seed: string, random: Random): Ticket {
  return ticketOf(seed, opaqueValue('', random, 16));
}

/**
 * Nonce and verifier are made of the seed of the visit, which no page and no address shows, so that the visit need not
 * store them.
 */
function ticketOf(seed: string, ticket: string): Ticket {
  const made = (what: string) =>
    createHmac('sha256', seed).update(`provider\0${what}\0${ticket}`).digest('base64url');
  return { ticket, nonce: made('nonce'), codeVerifier: made('verifier') };
}

/** The `state` with which the browser leaves; of no use without the cookie of the visit. */
export function stateOf(interactionId: string, { ticket }: Ticket): string {
  return `${interactionId}.${ticket}`;
}

/** The parts of a `state`; undefined if it is not one of ours, or there is not exactly one. */
export function readState(
  query: string,
): { readonly interactionId: string; readonly ticket: string } | undefined {
  const [state = '', ...others] = new URLSearchParams(query).getAll('state');
  const [, interactionId, ticket] = stateShape.exec(state) ?? [];
  if (interactionId === undefined || ticket === undefined || others.length > 0) return undefined;
  return { interactionId, ticket };
}

/** What a visit remembers of a departure. */
export function departureOf(
  to: Pick<Departure, 'provider' | 'issuer' | 'resume' | 'linkSessionId'>,
  { ticket }: Ticket,
  now: number,
): Departure {
  return { ...to, ticketHash: digest(ticket), leftAt: now };
}

/** The ticket with which the browser of a visit left; undefined if it is another one. */
export function ticketOfDeparture(
  { seed, departure }: Pick<Visit, 'seed' | 'departure'>,
  ticket: string,
): Ticket | undefined {
  if (departure === undefined || !ticketShape.test(ticket)) return undefined;
  const isSame = timingSafeEqual(Buffer.from(digest(ticket)), Buffer.from(departure.ticketHash));
  return isSame ? ticketOf(seed, ticket) : undefined;
}
