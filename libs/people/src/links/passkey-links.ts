import type { KeyObject } from 'node:crypto';
import { opaqueValue, type Clock, type Random } from '@tessera/kit';
import { longestPasskeyResponse, passkeyCeremony, type PasskeyCeremony } from '@tessera/oauth';
import type { CallContext } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { type TenantRecord, findTenant } from '@tessera/directory/records';
import type { Origin } from '../change/own-change.postgres.ts';
import type { Announce } from '../mail/announce.ts';
import { digestOf } from '../one-time/one-time-values.postgres.ts';
import { findPasskey, type EnrolledPasskey } from '../passkey/passkeys.postgres.ts';
import { creationOptions, verifyRegistration } from '../passkey/webauthn.ts';
import { userHandles } from '../passkey/user-handles.ts';
import { findInvited, redeemInvitation } from './passkey-links.postgres.ts';
import type { OpenedLink } from './password-links.ts';

export interface PasskeyLinksDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly random: Random;
  readonly announce: Announce;
  /** Undefined if nobody registers. */
  readonly registration: RegistrationLinks | undefined;
  /** Pepper of the directory. */
  readonly pepper: KeyObject;
  /** Undefined if it is taken from the host of each request. */
  readonly sharedIssuer: string | undefined;
  /** Called after each commit. */
  readonly onChange: () => void;
}

/** Links with which people make an account. */
export interface RegistrationLinks {
  /**
   * Who makes an account with a link; undefined for one that is unknown, used or expired, or of another issuer's
   * tenant.
   */
  find(
    opened: OpenedLink,
  ): Promise<
    { readonly tenantId: string; readonly tenantName: string; readonly username: string } | undefined
  >;
  /** Makes the account with a passkey in place of a password, once; false for a link of before. */
  redeemWithPasskey(opened: OpenedLink, passkey: EnrolledPasskey, origin: Origin): Promise<boolean>;
}

/** A link, and the issuer that it was opened at. */
interface OpenedAt extends OpenedLink {
  readonly issuer: string;
}

/**
 * Links with which people who have nothing to sign in with make a passkey in place of a password: invitations and
 * registrations. No other link does: who has something and could add a passkey by a link would need none of it
 * (CVE-2026-37982).
 */
export interface PasskeyLinks {
  /** What the page of a link asks the browser for; nothing where no passkey may be made with it. */
  propose(opened: OpenedAt): Promise<{ readonly passkeyOptions?: string; readonly passkeyNonce?: string }>;
  /** Enrols the passkey, once: `unknown` for a link that makes none, `refused` for what is not a good passkey. */
  redeem(
    answered: OpenedAt & {
      readonly passkey: string;
      readonly passkeyNonce: string;
      readonly ipAddress: string;
    },
    context: Pick<CallContext, 'requestId'>,
  ): Promise<'made' | 'unknown' | 'refused'>;
}

export function createPasskeyLinks(deps: PasskeyLinksDeps): PasskeyLinks {
  const { database, registration, sharedIssuer, onChange, ...runtime } = deps;
  const userHandle = userHandles(deps.pepper);

  /** Whose passkey a link makes. Who registers has no identifier yet. */
  async function whose(opened: OpenedAt) {
    if (opened.issuer === '') return undefined;
    const digest = digestOf(opened.link);
    const invited = await findInvited(database, { digest, tenantId: opened.tenantId });
    const registering = invited === undefined ? await registration?.find(opened) : undefined;
    const found = invited ?? registering;
    const tenant = found && (await findTenant(database, found.tenantId));
    if (found === undefined || tenant === undefined) return undefined;
    const { tenantId } = tenant;
    const known = invited?.userId ?? `registers\0${digest.toString('hex')}`;
    const handle = userHandle({ tenantId, userId: known });
    return { tenant, invited, username: found.username, handle };
  }

  function ceremonyFor(
    { link, issuer }: OpenedAt,
    { passkeyDomain }: TenantRecord,
    nonce: string,
  ): PasskeyCeremony | undefined {
    const isShared = passkeyDomain === 'shared' && sharedIssuer !== undefined && issuer !== sharedIssuer;
    const domain = isShared ? new URL(sharedIssuer).hostname : '';
    return passkeyCeremony({ issuer, secret: link, domain }, 'create', nonce);
  }

  return {
    async propose(opened) {
      const found = await whose(opened);
      if (found === undefined) return {};
      const { tenant, username, handle } = found;
      const passkeyNonce = opaqueValue('', runtime.random, 16);
      const ceremony = ceremonyFor(opened, tenant, passkeyNonce);
      if (ceremony === undefined) return {};
      const person = { handle, tenantName: tenant.name, username, name: '' };
      return { passkeyOptions: creationOptions(ceremony, person, []), passkeyNonce };
    },

    async redeem({ passkey: response, passkeyNonce, ipAddress, ...opened }, { requestId }) {
      const found = await whose(opened);
      if (found === undefined) return 'unknown';
      const { tenant, invited, handle: userHandle } = found;
      const ceremony = ceremonyFor(opened, tenant, passkeyNonce);
      if (ceremony === undefined || response.length > longestPasskeyResponse) return 'refused';
      const made = await verifyRegistration(ceremony, response);
      if (made === undefined) return 'refused';
      if ((await findPasskey(database, tenant.tenantId, made.credentialId)) !== undefined) return 'refused';
      const passkey = { ...made, userHandle, rpId: ceremony.rpId };
      const origin = { ipAddress, requestId };
      const presented = { digest: digestOf(opened.link), tenantId: opened.tenantId };
      const isDone =
        invited === undefined
          ? await registration?.redeemWithPasskey(opened, passkey, origin)
          : await redeemInvitation(database, runtime, presented, invited, { passkey, ...origin });
      if (isDone !== true) return 'unknown';
      onChange();
      return 'made';
    },
  };
}
