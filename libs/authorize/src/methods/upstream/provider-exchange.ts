import type { Clock, Random } from '@tessera/kit';
import { providerAnswerUri } from '@tessera/oauth';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import { Code, ConnectError, type Client } from '@tessera/rpc';
import type { BrowserCall } from '../../browser-call.ts';
import type { Fields } from '../../visits/step.ts';
import type { Departure, Visit } from '../../store/visit-store.ts';
import { lacksClaims } from './claims-of-person.ts';
import { departureOf, newTicket, stateOf, ticketOfDeparture, type Ticket } from './departure.ts';
import { isRecent, providerRequest, type Asked, type Demands } from './provider-request.ts';
import { invalidAnswer, NotRecentError } from './provider-refusals.ts';
import type { DeclaredProvider, ProviderAnswer, Reach } from './provider.ts';
import { withProvider } from './with-provider.ts';
import type { UsedValues } from './used-values.postgres.ts';

export interface ExchangeDeps {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly usedValues: Pick<UsedValues, 'use'>;
  readonly reach: Reach;
  /** How long an answer may take: no visit lives longer. */
  readonly visitSeconds: number;
  readonly random: Random;
  readonly clock: Pick<Clock, 'now'>;
}

/** An answer, and the provider that gave it. */
export interface Proved {
  readonly by: DeclaredProvider;
  readonly answer: ProviderAnswer;
}

/** Sends browsers to providers and judges what they bring back. Both throw what `refusalOf` knows. */
export interface ProviderExchange {
  /** A provider as it is declared; undefined if the tenant has none of that name. */
  declared(
    from: Pick<BrowserCall, 'call'>,
    tenantId: string,
    name: string,
  ): Promise<DeclaredProvider | undefined>;
  /** Where the browser of a visit goes, and what the visit remembers of it. */
  leave(
    from: BrowserCall,
    visit: Visit,
    to: DeclaredProvider,
    asked: Asked & Pick<Departure, 'resume' | 'linkSessionId'>,
  ): Promise<{ readonly departure: Departure; readonly location: (interactionId: string) => string }>;
  /**
   * What the provider proved to this visit, once. An answer to a link is none to a sign-in, and none to a link of
   * another session.
   */
  arrive(
    from: BrowserCall,
    visit: Visit,
    demands: Demands & Pick<Departure, 'linkSessionId'>,
    fields: Fields,
  ): Promise<Proved>;
}

export function createProviderExchange(deps: ExchangeDeps): ProviderExchange {
  const { directoryService, usedValues, reach, random, clock } = deps;

  async function declared(
    { call }: Pick<BrowserCall, 'call'>,
    tenantId: string,
    name: string,
  ): Promise<DeclaredProvider | undefined> {
    try {
      return await directoryService.getProvider({ tenantId, name }, call.onward());
    } catch (error) {
      if (error instanceof ConnectError && error.code === Code.NotFound) return undefined;
      throw error;
    }
  }

  /** The first of any number of callers gets the code exchanged. */
  async function isFirstAnswer({ tenantId }: Visit, { ticket }: Ticket): Promise<boolean> {
    return usedValues.use(['provider answer', tenantId, ticket], deps.visitSeconds);
  }

  return {
    declared,

    async leave(from, visit, to, { resume, linkSessionId, ...asked }) {
      const authorizationUrl = await withProvider(
        to,
        reach,
        from.browser.ipAddress,
        (opened) => opened.authorizationUrl,
      );
      const ticket = newTicket(visit.seed, random);
      const redirectUri = providerAnswerUri(from.browser.issuer, visit.tenantId, to.name);
      return {
        departure: departureOf(
          {
            provider: to.name,
            issuer: to.issuer,
            resume,
            ...(linkSessionId !== undefined && { linkSessionId }),
          },
          ticket,
          clock.now(),
        ),
        location: (interactionId) => {
          const sent = { ticket, state: stateOf(interactionId, ticket), redirectUri };
          return authorizationUrl(providerRequest(to, asked, sent));
        },
      };
    },

    async arrive(from, visit, demands, { answer: query = '', tenant, provider }) {
      const { departure, tenantId } = visit;
      if (departure === undefined || tenant !== tenantId || provider !== departure.provider)
        throw invalidAnswer('it came to the address of another provider');
      if (departure.linkSessionId !== demands.linkSessionId)
        throw invalidAnswer('the browser left for another reason');
      const state = new URLSearchParams(query).get('state') ?? '';
      const ticket = ticketOfDeparture(visit, state.slice(state.lastIndexOf('.') + 1));
      if (ticket === undefined) throw invalidAnswer('the browser left with another ticket');
      const to = await declared(from, tenantId, departure.provider);
      // A provider that was declared anew meanwhile is another one.
      if (to?.issuer !== departure.issuer) throw invalidAnswer('the provider is gone');
      const uri = new URL(providerAnswerUri(from.browser.issuer, tenantId, to.name));
      uri.search = query;
      const { nonce, codeVerifier } = ticket;
      // What asks anew is checked below: people may take their time on further pages.
      const maxAge = demands.maxAge === 0 ? undefined : demands.maxAge;
      const checks = { state, nonce, codeVerifier, maxAge };
      const lacks = (claims: ProviderAnswer['claims']) => lacksClaims(claims, to.mappedClaims);
      const proved = await withProvider(to, reach, from.browser.ipAddress, async (opened) => {
        if (!(await isFirstAnswer(visit, ticket))) throw invalidAnswer('it was used before');
        return opened.answer(uri, checks, lacks);
      });
      const { preset } = to;
      const { leftAt } = departure;
      if (!isRecent(proved.claims['auth_time'], demands, { preset, leftAt })) throw new NotRecentError();
      return { by: to, answer: proved };
    },
  };
}
