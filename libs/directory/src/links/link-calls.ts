import { otherPaths } from '@tessera/oauth';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { UsersService } from '@tessera/proto-gen/admin-users';
import { invalidFields, type Handlers } from '@tessera/rpc';
import type { Registration } from '../registration/registration.ts';
import { notFound } from '../ground/refusals.ts';
import type { PasskeyLinks } from './passkey-links.ts';
import type { CreatedLink, PasswordLinks } from './password-links.ts';
import type { LinkPurpose } from './password-links.postgres.ts';

export interface LinkCallsDeps {
  readonly links: PasswordLinks;
  /** The shared issuer, as links of its tenants begin; undefined if it is not known. */
  readonly linkBase: string | undefined;
}

/** The call that makes a link. */
export function linkCalls({
  links,
  linkBase,
}: LinkCallsDeps): Pick<Handlers<typeof UsersService>, 'createPasswordLink'> {
  return {
    async createPasswordLink({ purpose, ...request }, context) {
      // Also where a caller asks past the administration API, which checks the rule of the field: another link would make an administrator.
      if (!isPurpose(purpose))
        throw invalidFields([{ field: 'purpose', description: 'must be invitation or reset' }]);
      const created = await links.create({ ...request, purpose }, context);
      if (created === undefined) return {};
      return linkMessage(created, linkBase);
    },
  };
}

/** A link as people open it, at the issuer of their tenant, and when it expires. */
export function linkMessage(
  { link, tenantIssuer, expiresAt }: CreatedLink,
  linkBase: string | undefined,
): { readonly uri: string; readonly expireTime: { readonly seconds: bigint; readonly nanos: number } } {
  const issuer = tenantIssuer || (linkBase ?? '');
  return {
    uri: `${issuer}${otherPaths.passwordLink}?${new URLSearchParams({ link }).toString()}`,
    expireTime: { seconds: BigInt(expiresAt), nanos: 0 },
  };
}

/** The calls for the page that a link opens. */
export function openedLinkCalls({
  links,
  passkeyLinks,
  registration,
}: Pick<LinkCallsDeps, 'links'> & {
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

function isPurpose(text: string): text is Exclude<LinkPurpose, 'bootstrap'> {
  return text === 'invitation' || text === 'reset';
}
