import { codeChallenge } from '@tessera/oauth';
import type { Policy } from '../../visits/step.ts';
import type { Departure, Visit } from '../../store/visit-store.ts';
import type { DeclaredProvider } from './provider.ts';
import type { Ticket } from './departure.ts';

/** Seconds that clocks may differ. */
const toleranceSeconds = 60;

/** How lately a person must have signed in at the provider. */
export interface Demands {
  /** The provider must ask them, whatever session they have there. */
  readonly again: boolean;
  /** Seconds since they last signed in there; undefined without a limit. */
  readonly maxAge: number | undefined;
}

/** What a provider is asked for, beyond who the person is. */
export interface Asked extends Demands {
  /** The person may choose among their accounts. */
  readonly selects: boolean;
  readonly loginHint: string;
  readonly acrValues: string;
  readonly uiLocales: string;
}

/**
 * What an application asked for goes on; an age of 0 asks for a new sign-in (OIDC Core §3.1.2.1). At pages of ours,
 * where people decide about others' access, an open browser is not enough.
 */
export function askedBy({ request }: Policy, { parameters }: Pick<Visit, 'parameters'>): Asked {
  return {
    again: request === undefined || request.prompt.has('login') || request.maxAge === 0,
    maxAge: request?.maxAge,
    selects: request?.prompt.has('select_account') === true,
    loginHint: request?.form.loginHint ?? '',
    acrValues: parameters['acr_values'] ?? '',
    uiLocales: request?.form.uiLocales ?? '',
  };
}

/** Google has neither `prompt=login`, to which choosing an account is the nearest, nor `auth_time`. */
const cannotAskAnew = (preset: string): boolean => preset === 'google';

function promptOf(preset: string, { again, selects }: Asked): string {
  if (again && !cannotAskAnew(preset)) return 'login';
  return again || selects ? 'select_account' : '';
}

/**
 * A provider that is asked for an age must say when the person signed in (OIDC Core §2), which is how we know that they
 * were asked anew: a person can take `prompt` out of the address. An age of 0 would have some providers ask again after
 * each further page.
 */
function maxAgeOf(preset: string, { again, maxAge }: Asked): string {
  if (maxAge !== undefined && maxAge > 0) return maxAge.toString();
  if (cannotAskAnew(preset)) return maxAge?.toString() ?? '';
  return again ? toleranceSeconds.toString() : '';
}

/** The authorization request to a provider (OIDC Core §3.1.2.1). */
export function providerRequest(
  { clientId, preset, scopes }: DeclaredProvider,
  asked: Asked,
  sent: { readonly ticket: Ticket; readonly state: string; readonly redirectUri: string },
): Record<string, string> {
  const { ticket, state, redirectUri } = sent;
  const parameters = {
    client_id: clientId,
    response_type: 'code',
    scope: scopes.join(' '),
    redirect_uri: redirectUri,
    state,
    nonce: ticket.nonce,
    code_challenge: codeChallenge(ticket.codeVerifier),
    code_challenge_method: 'S256',
    prompt: promptOf(preset, asked),
    max_age: maxAgeOf(preset, asked),
    login_hint: asked.loginHint,
    acr_values: asked.acrValues,
    ui_locales: asked.uiLocales,
  };
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== ''));
}

/**
 * Whether the person signed in at the provider when they had to. One that cannot say when is believed, unless the
 * application demanded an age.
 */
export function isRecent(
  authTime: unknown,
  { again, maxAge }: Demands,
  { preset, leftAt }: Pick<DeclaredProvider, 'preset'> & Pick<Departure, 'leftAt'>,
): boolean {
  if (typeof authTime !== 'number') return maxAge === undefined && (!again || cannotAskAnew(preset));
  return !again || authTime >= leftAt / 1000 - toleranceSeconds;
}
