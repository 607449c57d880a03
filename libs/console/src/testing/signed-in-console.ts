import { Secret, systemClock, systemRandom } from '@tessera/kit';
import { consolePages, type ConsoleDeps } from '../console-pages.ts';
import { createSessions } from '../console-sessions.ts';

export { pageTable } from '../console-page-table.ts';

/** A console with people in it who have not signed in by its pages. */
export function signedInConsole(deps: ConsoleDeps) {
  const sessions = createSessions(systemClock, systemRandom);
  return {
    pages: consolePages(deps, sessions),
    /** The cookie of somebody with this access token. */
    cookieOf: (tenantId: string, accessToken: string, everyTenant: boolean, seconds = 600): string => {
      const session = { tenantId, everyTenant, userId: 'usr_somebody', name: 'Somebody' };
      const expiresAt = Date.now() + seconds * 1000;
      return `tessera_console=${sessions.keep({ ...session, accessToken: new Secret(accessToken), expiresAt })}`;
    },
  };
}
