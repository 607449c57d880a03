import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Handlers } from '@tessera/rpc';
import { notFound } from '@tessera/directory/ground';
import type { EmailChanges } from './email-changes.ts';
import type { Registration } from '../registration/registration.ts';
import { noMail } from '../mail/no-mail.ts';
import type { ResetRequests } from '../links/reset-requests.ts';

export interface MailCallsDeps {
  /** Undefined if no mail is sent. */
  readonly resetRequests: ResetRequests | undefined;
  readonly emailChanges: EmailChanges | undefined;
  readonly registration: Registration | undefined;
}

/** The calls of people who ask for mail. */
export function mailCalls({
  resetRequests,
  emailChanges,
  registration,
}: MailCallsDeps): Pick<
  Handlers<typeof DirectoryService>,
  'requestPasswordReset' | 'requestRegistration' | 'proposeEmail' | 'getEmailLink' | 'confirmEmail'
> {
  return {
    async requestPasswordReset(request, { requestId }) {
      if (resetRequests === undefined) throw noMail();
      await resetRequests.keep({ ...request, requestId });
      return {};
    },

    async requestRegistration(request, { requestId }) {
      if (registration === undefined) throw noMail();
      await registration.keep({ ...request, requestId });
      return {};
    },

    async proposeEmail(request, { requestId }) {
      if (emailChanges === undefined) throw noMail();
      await emailChanges.propose({ ...request, requestId });
      return {};
    },

    async getEmailLink(request) {
      if (emailChanges === undefined) throw notFound('The link');
      return { email: await emailChanges.find(request) };
    },

    async confirmEmail(request, { requestId }) {
      if (emailChanges === undefined) throw notFound('The link');
      await emailChanges.confirm({ ...request, requestId });
      return {};
    },
  };
}
