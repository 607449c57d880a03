import { OAuthError } from '@tessera/oauth';
import { rawQuery, readQuery, shownParameter } from '@tessera/pages';
import { freshSeconds } from '../admission/fresh.ts';
import { fieldsOf, goTo, sentForm, type ConsolePage } from '../console-visit.ts';

/** Asks whose administrator a person is. */
export const signInPage: ConsolePage = {
  load: async (visit) => {
    const query = readQuery(visit.request);
    const [organization, next] = ['organization', 'next'].map((name) => shownParameter(query, name));
    return visit.send({ template: 'sign-in', data: { organization, next } });
  },
};

/** Sends the browser to the issuer of the organization. */
export const startPage: ConsolePage = {
  load: async (visit) => {
    const { signIn, sessions, origin, call, setCookie, reply } = visit;
    const query = readQuery(visit.request);
    const named = shownParameter(query, 'organization').trim();
    const next = shownParameter(query, 'next');
    const returnTo = next.startsWith('/') ? next : '/';
    const maxAge = query.get('fresh') === 'yes' ? freshSeconds : undefined;
    const { location, started } = await signIn
      .start(named === '' ? undefined : named, { origin, returnTo, maxAge, call: call() })
      .catch((error: unknown) => {
        throw error instanceof OAuthError
          ? error
          : new OAuthError('temporarily_unavailable', 'The issuer cannot be reached now. Try again later.', {
              cause: error,
            });
      });
    setCookie(sessions.start(started));
    return reply.header('cache-control', 'no-store').redirect(location, 302);
  },
};

/** Where the issuer sends the browser back to. */
export const callbackPage: ConsolePage = {
  load: async (visit) => {
    const { signIn, sessions, cookie, origin, request, setCookie } = visit;
    const started = sessions.take(cookie);
    if (started === undefined)
      throw new OAuthError('access_denied', 'This browser has not begun to sign in, or has waited too long.');
    const session = await signIn.finish(rawQuery(request), started, origin);
    // A new cookie: what was known before the sign-in opens nothing.
    setCookie(sessions.keep(session));
    return goTo(visit, started.returnTo);
  },
};

export const signOutPage: ConsolePage = {
  load: async (visit) => visit.send({ template: 'sign-out', data: { fields: fieldsOf(visit) } }),
  act: async (visit) => {
    sentForm(visit);
    const { sessions, cookie, setCookie } = visit;
    sessions.end(cookie);
    setCookie('');
    return goTo(visit, '/signed-out');
  },
};

/** After the session of the console has ended. Its person may still be signed in at their organization. */
export const signedOutPage: ConsolePage = {
  load: async (visit) => visit.send({ template: 'signed-out' }),
};
