import { linkCalls } from '../../links/link-calls.ts';
import { createUnlock } from '../../password/unlock.postgres.ts';
import { createDeleteCredential } from './delete-credential.ts';
import { factorResetCalls } from './factor-reset.ts';
import { createLockDown } from './lock-down.ts';
import { shownCredentials } from './shown-credentials.postgres.ts';

type Deps = Parameters<typeof createLockDown>[0] &
  Parameters<typeof createDeleteCredential>[0] &
  Parameters<typeof createUnlock>[0] &
  Parameters<typeof linkCalls>[0] &
  Parameters<typeof factorResetCalls>[0] & { readonly database: Parameters<typeof shownCredentials>[0] };

/** The calls of administrators on how people sign in. */
export function administeredPeople(deps: Deps) {
  return {
    getCredentials: shownCredentials(deps.database),
    lockDown: createLockDown(deps),
    deleteCredential: createDeleteCredential(deps),
    unlock: createUnlock(deps),
    ...linkCalls(deps),
    ...factorResetCalls(deps),
  };
}
