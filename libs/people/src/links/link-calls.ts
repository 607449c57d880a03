import { eventBase } from '@tessera/audit';
import { refuseSelf } from '@tessera/directory/ground';
import { otherPaths } from '@tessera/oauth';
import type { UsersService } from '@tessera/proto-gen/admin-users';
import { invalidFields, type Handlers } from '@tessera/rpc';
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
      // Also where a caller asks past the administration API, which checks the rule of the field: another link would
      // make an administrator.
      if (!isPurpose(purpose))
        throw invalidFields([{ field: 'purpose', description: 'must be invitation or reset' }]);
      refuseSelf(eventBase(context), request.userId, {
        deed: 'make a link for yourself',
        remedy: 'Change your password',
      });
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

function isPurpose(text: string): text is Exclude<LinkPurpose, 'bootstrap'> {
  return text === 'invitation' || text === 'reset';
}
