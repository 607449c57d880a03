import type { Handlers } from '@tessera/rpc';
import { temporarilyUnavailable } from '@tessera/oauth';
import type { AuthorizeService } from '@tessera/proto-gen/authorize';
import { browserCallOf, redirectOf, sessionOf } from './messages.ts';
import type { Dispatcher } from './interaction/dispatcher.ts';
import type { Continued, Next } from './interaction/next.ts';

type EarlierCalls = 'beginAuthorization' | 'signIn' | 'signInDirect';

/** Compatibility until 0.3: the calls of a gateway of version 0.1, which knows the step `password` alone. */
export function earlierHandlers(
  dispatcher: Dispatcher,
  onSessionEnd: () => void,
): Pick<Handlers<typeof AuthorizeService>, EarlierCalls> {
  return {
    async beginAuthorization({ browser, ...asked }, call) {
      const next = await dispatcher.begin(browserCallOf(browser, call), asked);
      switch (next.next) {
        case 'redirect':
          return { next: { case: 'redirect', value: redirectOf(next.redirect) } };
        case 'tenant_mismatch':
          return { next: { case: 'tenantMismatch', value: { interaction: next.interaction } } };
        default:
          return { next: { case: 'interaction', value: passwordPage(next) } };
      }
    },

    async signIn({ browser, interactionId, identifier, password }, call) {
      const submitted = { visit: interactionId, step: 'password', fields: { identifier, password } };
      const { next, opened } = await dispatcher.continue(browserCallOf(browser, call), submitted);
      onSessionEnd();
      switch (next.next) {
        case 'redirect': {
          const redirect = redirectOf(next.redirect);
          if (opened === undefined) return { outcome: { case: 'redirect', value: redirect } };
          return { outcome: { case: 'signedIn', value: { session: sessionOf(opened), redirect } } };
        }
        case 'tenant_mismatch':
          return { outcome: { case: 'tenantMismatch', value: { interaction: next.interaction } } };
        default:
          return { outcome: { case: 'wrongCredentials', value: { interaction: passwordPage(next) } } };
      }
    },

    async signInDirect({ browser, tenantId, identifier, password }, call) {
      const visit = { purpose: 'device', tenantId } as const;
      const submitted = { visit, step: 'password', fields: { identifier, password } };
      const result: Continued = await dispatcher.continue(browserCallOf(browser, call), submitted);
      onSessionEnd();
      const { next, opened } = result;
      if (opened !== undefined) return { session: sessionOf(opened) };
      if (next.next === 'step') passwordPage(next);
      return { tenantMismatch: next.next === 'tenant_mismatch' };
    },
  };
}

function passwordPage(next: Next) {
  if (next.next === 'step' && next.step === 'password') return next.interaction;
  throw temporarilyUnavailable(new Error('a gateway of version 0.1 cannot show the step'));
}
