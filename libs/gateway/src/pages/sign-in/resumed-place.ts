import type { FastifyReply } from 'fastify';
import type { SignInPlace } from './sign-in-place.ts';

/** Where a browser that comes back from a provider goes on. */
export interface ResumedPlace {
  readonly place: SignInPlace;
  /** The answer to who is signed in, if nothing more is required. */
  readonly signedIn: () => FastifyReply;
}
