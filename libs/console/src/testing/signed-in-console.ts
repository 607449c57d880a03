import { Secret, systemClock, systemRandom } from '@tessera/kit';
import { consolePages, type ConsoleDeps } from '../console-pages.ts';
import { createSessions } from '../console-sessions.ts';

export { pageTable } from '../console-page-table.ts';
export { isSignedInThere } from '../admission/signed-in-there.ts';

const aDay = 24 * 3600;

/** A console with people in it who have not signed in by its pages. */
export function signedInConsole(deps: Omit<ConsoleDeps, 'tryProvider'>) {
  const sessions = createSessions(systemClock, systemRandom);
  return {
    // Their tokens come from no browser, so that there is no session there.
    pages: consolePages({ isSignedIn: async () => true, tryProvider: async () => [], ...deps }, sessions),
    /** The cookie of somebody with this access token. */
    cookieOf: (
      tenantId: string,
      accessToken: string,
      everyTenant: boolean,
      seconds = aDay,
      // A slow machine must not make somebody's sign-in old.
      { sessionId = 'none', userId = 'usr_somebody', authTime = Date.now() + aDay * 1000 } = {},
    ): string => {
      const session = { tenantId, everyTenant, userId, name: 'Somebody', sessionId, authTime };
      const expiresAt = Date.now() + seconds * 1000;
      return `tessera_console=${sessions.keep({ ...session, accessToken: new Secret(accessToken), expiresAt })}`;
    },
  };
}
