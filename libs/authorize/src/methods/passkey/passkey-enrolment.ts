import type { DirectoryClient } from '@tessera/directory-client';
import type { Random } from '@tessera/kit';
import { hasTwoFactors, resistsPhishing } from '@tessera/oauth';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Client } from '@tessera/rpc';
import type { BrowserCall } from '../../browser-call.ts';
import type { KnownVisit, Policy, Step } from '../../visits/step.ts';
import { askingInVisit } from '../../visits/asking-person.ts';
import { invalidContext } from '../../visits/visits.ts';
import { ceremonyOf, newCeremony, passkeyMethods } from './ceremony.ts';
import type { PasskeyDomain } from './passkey-domain.ts';

/**
 * A new passkey, in a visit that adds one, and offered once in a visit to who has just signed in with a password, and
 * with the second factor that they have, in a browser that can make one: the fields `passkey_created`, which is what
 * the browser answered, and `passkey_nonce`; or `passkey_later`. Required of who must use one and has none. Where it is
 * offered, a browser may make it by itself (WebAuthn L3 §5.1.3): then it proves nothing until it is used.
 */
export function createPasskeyEnrolmentStep(deps: {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly directory: Pick<DirectoryClient, 'user'>;
  readonly passkeyDomain: PasskeyDomain;
  readonly random: Random;
}): Step {
  const { directoryService, directory, passkeyDomain, random } = deps;

  /** Whether the person must have one, and has none. */
  async function isRequired(
    { call }: BrowserCall,
    { tenantId, person }: KnownVisit,
    { needsPhishingResistance }: Policy,
  ): Promise<boolean> {
    if (!needsPhishingResistance || person === undefined || resistsPhishing(person.methods)) return false;
    const user = await directory.user(tenantId, person.userId, call.onward());
    return user !== undefined && !user.secondFactors.includes('passkey');
  }

  /**
   * Whether the person has a factor that they have not used: by a password alone, a new passkey would stand for it from
   * then on.
   */
  async function isUnproven({ call }: BrowserCall, { tenantId, person }: KnownVisit): Promise<boolean> {
    if (person === undefined || hasTwoFactors(person.methods)) return false;
    const user = await directory.user(tenantId, person.userId, call.onward());
    return user === undefined || user.secondFactors.length > 0;
  }

  return {
    name: 'passkey_enrolment',
    needsFreshSignIn: true,
    isSetUp: true,

    async isDue(from, visit, policy) {
      const { purpose, person, done, makesPasskeys } = visit;
      // Also where browsers have no passkeys: then nobody passes.
      if (await isRequired(from, visit, policy)) return true;
      if (purpose === 'add_passkey')
        return person !== undefined && !done.includes('passkey_enrolment') && hasPasskeys(visit);
      if (makesPasskeys !== true || person === undefined || person.sessionId !== undefined) return false;
      if (!hasPasskeys(visit) || done.includes('passkey_enrolment') || done.includes('passkey')) return false;
      return !(await isUnproven(from, visit));
    },

    async shown(from, visit, policy) {
      const { tenantId, person } = visit;
      const ceremony = newCeremony(visit, await passkeyDomain(from, visit), 'create', random);
      if (ceremony === undefined || person === undefined) throw invalidContext('nobody can have a passkey');
      const { nonce, ...asked } = ceremony;
      const proposed = { tenantId, userId: person.userId, ceremony: asked };
      const { options } = await directoryService.proposePasskey(proposed, from.call.onward());
      const required = (await isRequired(from, visit, policy)) ? { passkey_required: 'yes' } : {};
      const wished = visit.purpose === 'add_passkey' ? { passkey_asked: 'yes' } : {};
      return { passkey_options: options, passkey_nonce: nonce, ...required, ...wished };
    },

    async take(from, visit, policy, fields) {
      const { passkey_created: response = '', passkey_nonce: nonce = '', passkey_later: later = '' } = fields;
      if (later !== '' && !(await isRequired(from, visit, policy))) return { outcome: 'agreed' };
      const ceremony = ceremonyOf(visit, await passkeyDomain(from, visit), 'create', nonce);
      if (ceremony === undefined || visit.person === undefined || response === '')
        return { outcome: 'refused', problem: 'no_passkey' };
      // What is offered, a browser may make by itself; what somebody needs or has asked for, it makes with them.
      const byBrowser = visit.purpose !== 'add_passkey' && !(await isRequired(from, visit, policy));
      const { user, synced, unverified } = await directoryService.enrolPasskey(
        { ...askingInVisit(from, visit), ceremony, response, byBrowser },
        from.call.onward(),
      );
      if (user === undefined) return { outcome: 'refused', problem: 'no_passkey' };
      if (unverified) return { outcome: 'agreed' };
      return { outcome: 'verified', user, signedInAt: undefined, methods: passkeyMethods(synced) };
    },
  };
}

/** Whether browsers have passkeys where the visit is. */
function hasPasskeys({ issuer }: KnownVisit): boolean {
  return ceremonyOf({ issuer, seed: '-' }, '', 'create', '-') !== undefined;
}
