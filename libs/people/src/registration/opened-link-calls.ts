import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Handlers } from '@tessera/rpc';
import { notFound } from '@tessera/directory/ground';
import type { PasskeyLinks } from '../links/passkey-links.ts';
import type { PasswordLinks } from '../links/password-links.ts';
import type { Registration } from './registration.ts';

/** The calls for the page that a link opens. */
export function openedLinkCalls({
  links,
  passkeyLinks,
  registration,
}: {
  readonly links: PasswordLinks;
  readonly passkeyLinks: PasskeyLinks;
  readonly registration: Registration | undefined;
}): Pick<Handlers<typeof DirectoryService>, 'getPasswordLink' | 'redeemPasswordLink'> {
  return {
    async getPasswordLink(opened) {
      const person = await links.find(opened);
      const registered = person === undefined ? await registration?.find(opened) : undefined;
      const asked = await passkeyLinks.propose(opened);
      if (registered !== undefined) return { ...registered, ...asked, purpose: 'registration' };
      if (person === undefined) throw notFound('The link');
      const { tenantId, tenantName, username, purpose } = person;
      // For the page there is no difference.
      const shown = purpose === 'bootstrap' ? 'invitation' : purpose;
      return { tenantId, tenantName, username, purpose: shown, ...asked };
    },

    async redeemPasswordLink({ passkey, ...request }, context) {
      if (passkey !== '') {
        const redeemed = await passkeyLinks.redeem({ ...request, passkey }, context);
        if (redeemed === 'unknown') throw notFound('The link');
        return { passkeyRefused: redeemed === 'refused' };
      }
      const known = await links.redeem(request, context);
      const redeemed =
        known === 'unknown' ? ((await registration?.redeem(request, context)) ?? known) : known;
      if (redeemed === 'unknown') throw notFound('The link');
      return { passwordProblem: redeemed === 'set' ? '' : redeemed.problem };
    },
  };
}
