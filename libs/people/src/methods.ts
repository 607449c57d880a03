import { mailCodeCalls } from './mail-code/mail-code-calls.ts';
import { mailCodeLetters } from './mail-code/mail-code-letters.ts';
import { createMailCodes } from './mail-code/mail-codes.ts';
import { passkeyCalls } from './passkey/passkey-calls.ts';
import { createPasskeys, type PasskeysDeps } from './passkey/passkeys.ts';
import { secondFactorCalls } from './totp/second-factor-calls.ts';
import { createSecondFactors, type SecondFactorsDeps } from './totp/second-factors.ts';
import type { Drafts } from './mail/letters.ts';
import type { Requests } from './mail/mail-worker.ts';
import type { Outbox } from './mail/outbox.ts';

interface MethodDeps extends SecondFactorsDeps, PasskeysDeps {
  /** Undefined if no mail is sent. */
  readonly outbox: Outbox | undefined;
  /** Before the first look at what people ask for by mail, in seconds. */
  readonly delaySeconds: number;
}

/**
 * The ways to sign in besides passwords and providers, each a folder: the calls that it answers, the letters that it
 * writes, and what becomes of what people ask it for by mail.
 */
export function createMethods(deps: MethodDeps) {
  const { outbox } = deps;
  const mailCodes = outbox && createMailCodes({ ...deps, outbox });
  const letters: Drafts = mailCodes === undefined ? {} : mailCodeLetters(mailCodes);
  const requests: Requests = mailCodes === undefined ? {} : { 'mail-code-request': mailCodes.answer };
  return {
    calls: {
      ...secondFactorCalls(createSecondFactors(deps)),
      ...passkeyCalls(createPasskeys(deps)),
      ...mailCodeCalls(mailCodes),
    },
    letters,
    requests,
  };
}
