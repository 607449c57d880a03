import type { Random } from '@tessera/kit';
import { AccountProblem } from '@tessera/proto-gen/account';
import type { PersonService } from '@tessera/proto-gen/person';
import type { Client } from '@tessera/rpc';
import type { BrowserCall } from '../browser-call.ts';
import { askingBySession } from '../visits/asking-person.ts';
import { invalidContext, visitToPage, type Visits } from '../visits/visits.ts';
import { sessionOf } from '../messages.ts';
import type { FinishLink } from '../interaction/answer-from-provider.ts';
import { identityOf } from '../methods/upstream/claims-of-person.ts';
import { refusalOf } from '../methods/upstream/provider-refusals.ts';
import type { Asked } from '../methods/upstream/provider-request.ts';
import type { Upstream } from '../methods/upstream/upstream.ts';
import type { FindPresentPerson, PresentPerson } from '../interaction/present-person.ts';
import type { Sessions } from '../sessions/sessions.ts';

export interface LinkedProvidersDeps {
  readonly upstream: Pick<Upstream, 'exchange' | 'audit'>;
  readonly visits: Pick<Visits, 'save'>;
  readonly presentPerson: FindPresentPerson;
  readonly personService: Client<typeof PersonService>;
  readonly sessions: Pick<Sessions, 'open'>;
  readonly random: Random;
}

/** The providers that a person signs in with. */
export interface LinkedProviders {
  /** Sends the browser of a person to a provider, to link what it proves. Call it for who is sure to be the person. */
  link(
    from: BrowserCall,
    person: PresentPerson,
    to: { readonly provider: string; readonly resume: string },
  ): Promise<{ readonly location: string } | { readonly problem: AccountProblem }>;
  readonly finishLink: FinishLink;
  /**
   * Removes a provider, and everything that was issued before; the browser gets a new session if its own was made
   * without a provider.
   */
  unlink(
    from: BrowserCall,
    person: PresentPerson,
    provider: string,
  ): Promise<{ readonly problem: AccountProblem } | { readonly session?: ReturnType<typeof sessionOf> }>;
}

/** The gateway keeps a few fields. */
const longestResume = 1024;

/** A browser that is signed in at the provider is not enough: it may be somebody else's account there. */
const asked: Asked = {
  again: true,
  maxAge: undefined,
  selects: true,
  loginHint: '',
  acrValues: '',
  uiLocales: '',
};

export function createLinkedProviders(deps: LinkedProvidersDeps): LinkedProviders {
  const { visits, presentPerson, personService, sessions, random } = deps;
  const { exchange, audit } = deps.upstream;

  return {
    async link(from, { session }, { provider, resume }) {
      const { tenantId, sessionId } = session;
      try {
        const to = await exchange.declared(from, tenantId, provider);
        if (to === undefined || resume.length > longestResume) return { problem: AccountProblem.UNKNOWN };
        const fresh = visitToPage(from.browser, { purpose: 'account_change', tenantId }, random);
        const linking = { ...asked, resume, linkSessionId: sessionId };
        const { departure, location } = await exchange.leave(from, fresh, to, linking);
        return { location: location(await visits.save(from.browser, { ...fresh, departure })) };
      } catch (error) {
        const refused = refusalOf(error);
        if (refused === undefined) throw error;
        audit.linkRefused(from, session, provider, refused);
        return { problem: AccountProblem.PROVIDER_UNREACHABLE };
      }
    },

    async finishLink(from, visit, fields) {
      const { provider, linkSessionId } = visit.departure;
      const person = await presentPerson(from);
      if (person === undefined || person.session.sessionId !== linkSessionId)
        throw invalidContext('the session that the link began in is over');
      try {
        const { answer } = await exchange.arrive(from, visit, { ...asked, linkSessionId }, fields);
        const { refusal } = await personService.linkOwnProvider(
          { ...askingBySession(from, person.session), provider, ...identityOf(answer) },
          from.call.onward(),
        );
        if (refusal === '') return '';
        const reason = refusal === 'taken' ? 'provider_taken' : 'provider_invalid';
        audit.linkRefused(from, person.session, provider, { reason, detail: '' });
        return refusal === 'taken' ? 'taken' : 'invalid_answer';
      } catch (error) {
        const refused = refusalOf(error);
        if (refused === undefined) throw error;
        audit.linkRefused(from, person.session, provider, refused);
        return refused.problem;
      }
    },

    async unlink(from, { session }, provider) {
      const { tenantId, userId, authentication } = session;
      const { refusal, signedInAtMs } = await personService.unlinkOwnProvider(
        { ...askingBySession(from, session), provider },
        from.call.onward(),
      );
      if (refusal !== '')
        return { problem: refusal === 'last' ? AccountProblem.LAST_WAY_IN : AccountProblem.UNKNOWN };
      const { methods } = authentication;
      // Which provider, and whether the other methods are its own, is not known.
      if (methods.includes('fed')) return {};
      const signIn = { tenantId, userId, signedInAt: Number(signedInAtMs), methods };
      return { session: sessionOf(await sessions.open(from, signIn, '', session)) };
    },
  };
}
