// Tells the browser which passkeys of the person count, and what the person is called (WebAuthn Level 3 §5.1.10), so
// that it no longer offers what was removed. A browser that does not know these methods keeps what it has.

const told = document.getElementById('accepted-passkeys');

/** @typedef {{ rpId: string, userHandle: string, credentialIds: string[], name: string, displayName: string }} Accepted */
const accepted = /** @type {Accepted[]} */ (JSON.parse(told?.dataset['accepted'] ?? '[]'));

async function tell() {
  if (typeof PublicKeyCredential !== 'function' || !('signalAllAcceptedCredentials' in PublicKeyCredential))
    return;
  for (const { rpId, userHandle: userId, credentialIds, name, displayName } of accepted) {
    await PublicKeyCredential.signalAllAcceptedCredentials({
      rpId,
      userId,
      allAcceptedCredentialIds: credentialIds,
    });
    await PublicKeyCredential.signalCurrentUserDetails({ rpId, userId, name, displayName });
  }
}

// A domain that is not of this page is another page's to tell of.
tell().catch(() => {});
