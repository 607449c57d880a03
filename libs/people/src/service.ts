import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Handlers } from '@tessera/rpc';
import { mailCalls } from './account/mail-calls.ts';
import { providerSignInCalls } from './identity/provider-sign-in-calls.ts';
import { passwordCalls } from './password/password-calls.ts';
import { openedLinkCalls } from './registration/opened-link-calls.ts';
import type { RecordReads } from '@tessera/directory';
import type { createMethods } from './methods.ts';

type Deps = Parameters<typeof passwordCalls>[0] &
  Parameters<typeof mailCalls>[0] &
  Parameters<typeof openedLinkCalls>[0] &
  Parameters<typeof providerSignInCalls>[0] & {
    readonly methods: Pick<ReturnType<typeof createMethods>, 'calls'>;
  };

/** The calls by which people prove who they are, and ask for mail. */
export function peopleCalls(deps: Deps): Omit<Handlers<typeof DirectoryService>, keyof RecordReads> {
  return {
    ...passwordCalls(deps),
    ...mailCalls(deps),
    ...openedLinkCalls(deps),
    ...deps.methods.calls,
    ...providerSignInCalls(deps),
  };
}
