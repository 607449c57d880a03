import type { DirectoryClient } from '@tessera/directory-client';
import type { Random } from '@tessera/kit';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Client } from '@tessera/rpc';
import type { BrowserCall } from '../../browser-call.ts';
import type { Fields, Policy, Step, StepResult } from '../../visits/step.ts';
import type { Visit } from '../../store/visit-store.ts';
import { identityOf, mappedOf, methodsOf, personOf } from './claims-of-person.ts';
import { NoAccountError, refusalOf } from './provider-refusals.ts';
import { askedBy } from './provider-request.ts';
import type { ProviderAnswer } from './provider.ts';
import { upstreamSessionOf } from './upstream-session.ts';
import type { Upstream } from './upstream.ts';

/** The gateway keeps a few fields. */
const longestResume = 1024;

/**
 * A company's own provider (OIDC Core §3.1), in place of the password. The field `provider` names it and sends the
 * browser there; empty, it is the provider of the domain of `identifier`. The field `answer` is what the browser brings
 * back, to the address of `tenant` and `provider`. Whatever is refused leaves the other ways to sign in as they are.
 */
export function createProviderStep(deps: {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly directory: Pick<DirectoryClient, 'isActive'>;
  readonly upstream: Pick<Upstream, 'exchange' | 'tenantProviders' | 'audit'>;
  readonly random: Random;
}): Step {
  const { directoryService, directory, random } = deps;
  const { exchange, tenantProviders, audit } = deps.upstream;

  async function leave(from: BrowserCall, visit: Visit, policy: Policy, fields: Fields): Promise<StepResult> {
    const { provider = '', identifier = '', resume = '' } = fields;
    const { tenantId } = policy;
    const ofEmail = async () => (await tenantProviders.of(from, tenantId)).ofEmail(identifier);
    const name = provider === '' ? await ofEmail() : provider;
    const to = name === undefined ? undefined : await exchange.declared(from, tenantId, name);
    if (to === undefined || resume.length > longestResume)
      return { outcome: 'refused', problem: provider === '' ? 'unknown_domain' : 'unknown_provider' };
    const asked = askedBy(policy, visit);
    const loginHint = provider === '' ? identifier.trim() : asked.loginHint;
    const left = await exchange.leave(from, visit, to, { ...asked, loginHint, resume });
    return { outcome: 'sent', ...left };
  }

  async function arrive(
    from: BrowserCall,
    visit: Visit,
    policy: Policy,
    fields: Fields,
  ): Promise<StepResult> {
    const { tenantId } = policy;
    const { by, answer } = await exchange.arrive(from, visit, askedBy(policy, visit), fields);
    const provider = fields['provider'] ?? '';
    const proof = { tenantId, provider, ...identityOf(answer), ...personOf(answer) };
    const { ipAddress } = from.browser;
    const { refusal, user, signedInAtMs } = await directoryService.signInWithProvider(
      { ...proof, ipAddress, ...(by.mappedClaims.length > 0 && mappedOf(answer, by.mappedClaims)) },
      from.call.onward(),
    );
    if (user?.tenantId !== tenantId || !directory.isActive(user)) throw new NoAccountError(refusal);
    const signedInAt = timeOfSignIn(answer, Number(signedInAtMs), Number(user.validFrom) * 1000);
    const upstream = upstreamSessionOf(by.name, answer, from.browser.browserId, random);
    return { outcome: 'verified', user, signedInAt, methods: methodsOf(answer, by.trustsFactors), upstream };
  }

  function refused(from: BrowserCall, policy: Policy, name: string, error: unknown): StepResult {
    const known = refusalOf(error);
    if (known === undefined) throw error;
    audit.refused(from, policy, name, known);
    return { outcome: 'refused', problem: known.problem };
  }

  return {
    name: 'provider',
    insteadOf: ['password'],
    isDue: () => false,

    async shown(from, _visit, { tenantId }) {
      const { shown, hasDomains } = await tenantProviders.of(from, tenantId);
      return shown.length === 0 ? {} : { providers: JSON.stringify({ shown, hasDomains }) };
    },

    async take(from, visit, policy, fields) {
      const isAnswer = fields['answer'] !== undefined;
      try {
        return isAnswer
          ? await arrive(from, visit, policy, fields)
          : await leave(from, visit, policy, fields);
      } catch (error) {
        const name = isAnswer ? visit.departure?.provider : fields['provider'];
        return refused(from, policy, name ?? '', error);
      }
    },
  };
}

/**
 * When the person signed in: at the provider, if it says so, as applications ask for that. Not later than now, and not
 * before what ended earlier sign-ins, since the directory counts this one.
 */
function timeOfSignIn({ claims }: ProviderAnswer, now: number, validFrom: number): number {
  const said = claims['auth_time'];
  const at = typeof said === 'number' && Number.isFinite(said) ? said * 1000 : now;
  return Math.max(Math.min(at, now), validFrom);
}
