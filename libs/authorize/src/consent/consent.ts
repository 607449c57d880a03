import { createHash } from 'node:crypto';
import type { DirectoryClient } from '@tessera/directory-client';
import { claimNamesOf, resourcesIn, scopesWithClaims } from '@tessera/oauth';
import type { User } from '@tessera/proto-gen/directory';
import type { CheckedRequest } from '../request/request.ts';
import { isHintedUser } from '../visits/visit.ts';
import type { BrowserCall } from '../browser-call.ts';
import type { Fields, Step } from '../visits/step.ts';
import type { ConsentAudit } from './consent-audit.ts';
import type { ConsentKey, ConsentStore } from './consents.postgres.ts';
import { consentCounts } from './counting-consents.ts';

/**
 * A person's consent to a third-party application: the field `consent`, `allow` or `deny`. It is due if the application
 * asks for more than the person has allowed it, and for `prompt=consent` (OIDC Core §3.1.2.1). Applications of the
 * company itself never ask.
 */
export function createConsentStep(deps: {
  readonly consents: ConsentStore;
  readonly directory: Pick<DirectoryClient, 'mayUse' | 'user'>;
  readonly audit: ConsentAudit;
}): Step {
  const { consents, directory, audit } = deps;

  /** What the person has allowed, as far as it counts. */
  async function allowed(
    { record }: CheckedRequest,
    user: User | undefined,
    key: ConsentKey,
  ): Promise<readonly string[]> {
    const consent = await consents.find(key);
    return consent !== undefined && consentCounts(record, user, { ...key, ...consent }) ? consent.scopes : [];
  }

  return {
    name: 'consent',
    unaskedError: 'consent_required',

    denies: ({ consent }) => consent === 'deny',

    async isDue({ call }, { tenantId, person, done }, { clientId, request }) {
      if (request?.record.application.thirdParty !== true) return false;
      if (person === undefined || done.includes('consent')) return false;
      // Whom the request is not for, or the access policy excludes, gets nothing to ask about.
      const user = await directory.user(tenantId, person.userId, call.onward());
      if (user !== undefined && !directory.mayUse(request.record.application, user)) return false;
      if (!isHintedUser(request, person)) return false;
      if (request.prompt.has('consent')) return true;
      const scopes = await allowed(request, user, { tenantId, userId: person.userId, clientId });
      return !askedScopes(request).every((scope) => scopes.includes(scope));
    },

    async shown({ call }: BrowserCall, { tenantId, person }, { request }): Promise<Fields> {
      if (request === undefined) return {};
      const user = person && (await directory.user(tenantId, person.userId, call.onward()));
      const { name, scopes } = request.record.application;
      const shown: Record<string, string> = { application: name, account: user?.username ?? '' };
      for (const scope of askedScopes(request)) {
        const { description = '' } = scopes.find((each) => each.name === scope) ?? {};
        const { resourceName = '' } =
          scopes.find((each) => each.name === scope || resourceEntry(each.audience) === scope) ?? {};
        shown[`scope ${scope}`] =
          description === '' && resourceName !== '' ? `use ${resourceName}` : description;
      }
      return shown;
    },

    async take(from, { tenantId, person, seed }, { clientId, request }, { consent }) {
      if (request?.record.application.thirdParty !== true || person === undefined)
        return { outcome: 'refused', problem: 'incomplete' };
      if (consent !== 'allow' && consent !== 'deny') return { outcome: 'refused', problem: 'incomplete' };
      const visit = createHash('sha256').update(`consent\0${seed}`).digest();
      const key = { tenantId, userId: person.userId, clientId };
      const scopes = askedScopes(request);
      if (consent === 'deny') {
        await consents.deny(key, visit);
        audit.denied(from, key, scopes);
        return { outcome: 'declined' };
      }
      const user = await directory.user(tenantId, person.userId, from.call.onward());
      const countsSince = {
        consent: Number(request.record.application.validFrom),
        signIn: Number(user?.validFrom ?? 0n),
      };
      const isAllowed = await consents.allow(
        key,
        { scopes, signedInAt: secondsOf(person.signedInAt), countsSince, visit },
        audit.granted(from, key, scopes),
      );
      return { outcome: isAllowed ? 'agreed' : 'declined' };
    },
  };
}

/**
 * What a request asks for: its scopes, those whose claims it names (OIDC Core §5.5), and an API without a scope (RFC
 * 8707 §2).
 */
function askedScopes({ scopes, claims, resource, record }: CheckedRequest): string[] {
  const named = [...claims.userinfo, ...claims.idToken];
  const ofClaims = scopesWithClaims.filter((scope) =>
    claimNamesOf([scope]).some((name) => named.includes(name)),
  );
  const withScope = record.application.scopes
    .filter(({ name }) => scopes.includes(name))
    .map(({ audience }) => audience);
  const alone = resourcesIn(resource)
    .filter((each) => !withScope.includes(each))
    .map(resourceEntry);
  return [...new Set([...scopes, ...ofClaims, ...alone])];
}

const secondsOf = (milliseconds: number | undefined) => milliseconds && milliseconds / 1000;

/** An API among scopes, none of which has a space. */
const resourceEntry = (audience: string): string => `resource ${audience}`;
