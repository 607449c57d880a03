import type { KeyObject } from 'node:crypto';
import type { Clock, Random } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { notFound, type PersonId } from '@tessera/directory/ground';
import type { DirectoryStore, FoundUser } from '@tessera/directory/records';
import { type SignedIn, findActive } from '../change/may-sign-in.ts';
import type { Announce } from '../mail/announce.ts';
import { userHandles } from './user-handles.ts';
import type { Origin, SignedInPerson } from '../change/own-change.postgres.ts';
import { findPasskey, passkeysOfUser, putPasskey, usePasskey } from './passkeys.postgres.ts';
import {
  creationOptions,
  readAssertion,
  verifyAssertion,
  verifyRegistration,
  type Ceremony,
} from './webauthn.ts';

export interface PasskeysDeps {
  readonly database: Database;
  readonly store: Pick<DirectoryStore, 'findUser'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly announce: Announce;
  /** Pepper of the directory. */
  readonly pepper: KeyObject;
  /** Called after each commit. */
  readonly onChange: () => void;
}

/** What a browser answered in a ceremony, as JSON. */
interface Answered extends Origin {
  readonly ceremony: Ceremony;
  readonly response: string;
}

/**
 * Passkeys of people (WebAuthn Level 3): of one tenant and one domain each, used with user verification, found by the
 * authenticator.
 */
export interface Passkeys {
  /** PublicKeyCredentialCreationOptionsJSON (§5.4). Throws NotFound for a person who may not sign in. */
  propose(person: PersonId & { readonly ceremony: Ceremony }): Promise<string>;
  /**
   * Enrols a passkey (§7.1). Undefined for a response that is not good, and for a person whose sign-in does not count.
   */
  enrol(answered: SignedInPerson & Answered & { readonly byBrowser: boolean }): Promise<
    | {
        readonly found: FoundUser;
        readonly synced: boolean;
        /** Whether its owner was verified when it was made. */
        readonly verified: boolean;
      }
    | undefined
  >;
  /**
   * Signs in with a passkey (§7.2). `userId` is empty if nobody is known yet. Undefined as above, and for the passkey
   * of somebody else.
   */
  verify(answered: PersonId & Answered): Promise<(SignedIn & { readonly synced: boolean }) | undefined>;
}

export function createPasskeys({ database, store, pepper, onChange, ...runtime }: PasskeysDeps): Passkeys {
  const userHandle = userHandles(pepper);
  const active = async (person: PersonId) => findActive(store, person);

  /** All passkeys of a person have one handle, so that an authenticator replaces its own (§6.3.2). */
  const handleOf = (person: PersonId, [first]: Awaited<ReturnType<typeof passkeysOfUser>>) =>
    first?.userHandle ?? userHandle(person);

  return {
    async propose({ ceremony, ...person }) {
      const found = await active(person);
      if (found === undefined) throw notFound('The user');
      const { tenant, user } = found;
      const present = await passkeysOfUser(database, person);
      return creationOptions(
        ceremony,
        {
          handle: handleOf(person, present),
          tenantName: tenant.name,
          username: user.username,
          name: user.name,
        },
        present,
      );
    },

    async enrol({ ceremony, response, byBrowser, ipAddress, requestId, ...person }) {
      const found = await active(person);
      const made = found && (await verifyRegistration(ceremony, response, byBrowser));
      if (made === undefined || found === undefined) return undefined;
      const { rpId, challenge } = ceremony;
      const userHandle = handleOf(person, await passkeysOfUser(database, person));
      const enrolled = { ...made, userHandle, rpId, challenge, ipAddress, requestId };
      if (!(await putPasskey(database, runtime, person, enrolled))) return undefined;
      onChange();
      return { found, synced: made.synced, verified: made.verified };
    },

    async verify({ ceremony, response, tenantId, userId, ipAddress, requestId }) {
      const assertion = readAssertion(response);
      if (assertion === undefined) return undefined;
      const passkey = await findPasskey(database, tenantId, assertion.credentialId);
      if (passkey === undefined || passkey.rpId !== ceremony.rpId) return undefined;
      const { userHandle } = assertion;
      const isTheirs =
        userId === ''
          ? userHandle === passkey.userHandle
          : userId === passkey.userId && [passkey.userHandle, undefined].includes(userHandle);
      const signed = isTheirs ? await verifyAssertion(ceremony, assertion, passkey) : undefined;
      if (signed === undefined) return undefined;
      const found = await active(passkey);
      if (found === undefined) return undefined;
      const used = { ...signed, challenge: ceremony.challenge, ipAddress, requestId };
      const signedInAt = await usePasskey(database, runtime, passkey, used);
      return signedInAt === undefined ? undefined : { found, signedInAt, synced: signed.synced };
    },
  };
}
