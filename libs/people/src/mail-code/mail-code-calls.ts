import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Handlers } from '@tessera/rpc';
import { userMessage } from '@tessera/directory/records';
import { noMail } from '../mail/no-mail.ts';
import type { MailCodes } from './mail-codes.ts';

/** The calls of a sign-in. `codes` is undefined if no mail is sent. */
export function mailCodeCalls(
  codes: MailCodes | undefined,
): Pick<Handlers<typeof DirectoryService>, 'requestMailCode' | 'sendMailCode' | 'verifyMailCode'> {
  return {
    async requestMailCode(request, { requestId }) {
      if (codes === undefined) throw noMail();
      await codes.request({ ...request, requestId });
      return {};
    },

    async sendMailCode(request, { requestId }) {
      if (codes === undefined) throw noMail();
      return { sent: await codes.send({ ...request, requestId }) };
    },

    async verifyMailCode(request, { requestId }) {
      const signedIn = await codes?.verify({ ...request, requestId });
      if (signedIn === undefined) return {};
      const { found, signedInAt } = signedIn;
      return { user: userMessage(found), signedInAtMs: BigInt(signedInAt) };
    },
  };
}
