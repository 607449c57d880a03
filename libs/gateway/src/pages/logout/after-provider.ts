import { otherPaths } from '@tessera/oauth';
import { antiForgery } from '@tessera/pages';
import { dropCookie, newBrowserId, readCookie, writeCookie } from '../../http/cookies.ts';
import { purpose } from '../form.ts';
import type { PageContext, PageHandler } from '../page-context.ts';

/** How long a browser may take to sign out of a provider, in seconds. */
const longestAway = 600;

/** How long the page after a logout may still say so, in seconds. */
const signedOutSeconds = 60;

/** Where a provider sends the browser back, and the state that it brings. */
export interface Return {
  readonly uri: string;
  readonly state: string;
  /** Remembers where the browser goes after that. */
  remember(location: string): void;
}

/** The way back from a provider. `location` is kept in a cookie, with a proof that it is ours. */
export function returnFromProvider({ app, request, reply, gateway }: PageContext): Return {
  const { random } = gateway.runtime;
  const known = readCookie(app, request, 'browser');
  const browserId = known === '' ? newBrowserId(random) : known;
  return {
    uri: request.incoming.issuer().replace(/\/$/, '') + otherPaths.afterProvider,
    // Nothing relies on it: what the browser goes on to is proved by its cookies.
    state: random.bytes(16).toString('base64url'),
    remember(location) {
      if (known === '') writeCookie(request, reply, 'browser', browserId);
      const text = Buffer.from(location).toString('base64url');
      const proof = antiForgery.token(browserId, purpose.afterProvider(location));
      // One that is too long for a cookie leads to a page of ours.
      if (text.length <= longestLocation)
        writeCookie(request, reply, 'afterProvider', `${proof}.${text}`, longestAway);
    },
  };
}

const longestLocation = 3000;

/** Our own page unless this browser was sent to a provider on the way to somewhere else. */
function rememberedLocation({ app, request }: PageContext): string {
  const [proof = '', text = ''] = readCookie(app, request, 'afterProvider').split('.');
  const location = Buffer.from(text, 'base64url').toString();
  const browserId = readCookie(app, request, 'browser');
  return antiForgery.proves(browserId, purpose.afterProvider(location), proof) ? location : '/login';
}

/**
 * `GET /logout/provider`: the browser has signed out of its provider (OIDC RP-Initiated Logout §3), and goes on to
 * where it was going.
 */
export const afterProvider: PageHandler = async (context) => {
  const { request, reply } = context;
  const location = rememberedLocation(context);
  dropCookie(request, reply, 'afterProvider');
  reply.header('cache-control', 'no-store');
  if (location === '/login') writeCookie(request, reply, 'signedOut', '1', signedOutSeconds);
  return reply.redirect(location, 302);
};
