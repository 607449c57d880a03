import { longestPasskeyResponse } from '@tessera/oauth';
import type { DirectoryService, PasskeyCeremony } from '@tessera/proto-gen/directory';
import { invalidFields, type Handlers } from '@tessera/rpc';
import { userMessage } from '@tessera/directory/records';
import type { Passkeys } from './passkeys.ts';
import type { Ceremony } from './webauthn.ts';

/** 256 bits (WebAuthn L3 §13.4.3 asks for 128). */
const challengeShape = /^[\w-]{43}$/;

/** The calls of a sign-in. */
export function passkeyCalls(
  passkeys: Passkeys,
): Pick<Handlers<typeof DirectoryService>, 'proposePasskey' | 'enrolPasskey' | 'verifyPasskey'> {
  return {
    async proposePasskey({ ceremony, ...person }) {
      return { options: await passkeys.propose({ ...person, ceremony: checked(ceremony) }) };
    },

    async enrolPasskey({ ceremony, ...answered }, { requestId }) {
      const asked = checked(ceremony);
      if (answered.response.length > longestPasskeyResponse) return {};
      const enrolled = await passkeys.enrol({ ...answered, ceremony: asked, requestId });
      if (enrolled === undefined) return {};
      const { found, synced, verified } = enrolled;
      return { user: userMessage(found), synced, unverified: !verified };
    },

    async verifyPasskey({ ceremony, ...answered }, { requestId }) {
      const asked = checked(ceremony);
      if (answered.response.length > longestPasskeyResponse) return {};
      const verified = await passkeys.verify({ ...answered, ceremony: asked, requestId });
      if (verified === undefined) return {};
      const { found, signedInAt, synced } = verified;
      return { user: userMessage(found), signedInAtMs: BigInt(signedInAt), synced };
    },
  };
}

/** Throws InvalidArgument for a ceremony that asks for nothing certain. */
function checked(ceremony: PasskeyCeremony | undefined): Ceremony {
  if (
    ceremony === undefined ||
    ceremony.rpId === '' ||
    ceremony.origin === '' ||
    !challengeShape.test(ceremony.challenge)
  )
    throw invalidFields([
      { field: 'ceremony', description: 'must name a domain, an origin and a challenge' },
    ]);
  return ceremony;
}
