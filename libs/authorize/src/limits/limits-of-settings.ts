import type { AuthorizeConfig } from '../config.ts';
import { codeLimits, type SignInLimits } from './guess-limits.ts';

/** Successful sign-ins cost hashing, not safety: of all there may be a hundred times as many as of failed ones. */
const signInsPerFailure = 100;

/** The limits of sign-ins that the settings give. */
export function limitsOf(config: AuthorizeConfig): SignInLimits {
  const windowSeconds = config.TESSERA_LOGIN_FAILURES_WINDOW;
  return {
    account: { name: 'sign-in.account', limit: config.TESSERA_LOGIN_FAILURES_PER_ACCOUNT, windowSeconds },
    codes: codeLimits,
    person: { name: 'sign-in.person', limit: config.TESSERA_LOGIN_FAILURES_PER_ACCOUNT, windowSeconds },
    knownBrowser: {
      name: 'sign-in.known-browser',
      limit: config.TESSERA_LOGIN_FAILURES_PER_ACCOUNT,
      windowSeconds,
    },
    accountTotal: {
      name: 'sign-in.account-total',
      limit: signInsPerFailure * config.TESSERA_LOGIN_FAILURES_PER_ACCOUNT,
      windowSeconds,
    },
    addressTotal: {
      name: 'sign-in.address-total',
      limit: signInsPerFailure * config.TESSERA_LOGIN_FAILURES_PER_ADDRESS,
      windowSeconds,
    },
    address: { name: 'sign-in.address', limit: config.TESSERA_LOGIN_FAILURES_PER_ADDRESS, windowSeconds },
  };
}
