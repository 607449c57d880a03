import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Handlers } from '@tessera/rpc';
import { noMail } from './no-mail.ts';
import type { ResetRequests } from './reset-requests.ts';

export interface MailCallsDeps {
  /** Undefined if no mail is sent. */
  readonly resetRequests: ResetRequests | undefined;
}

/** The calls of people who ask for mail. */
export function mailCalls({
  resetRequests,
}: MailCallsDeps): Pick<Handlers<typeof DirectoryService>, 'requestPasswordReset'> {
  return {
    async requestPasswordReset(request, { requestId }) {
      if (resetRequests === undefined) throw noMail();
      await resetRequests.keep({ ...request, requestId });
      return {};
    },
  };
}
