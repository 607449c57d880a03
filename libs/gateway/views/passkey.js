// Passkeys (WebAuthn Level 3 §5.1). Where this file does not run, or the browser has none, the pages offer none.

/** How long a browser is left alone after "Not now". */
const restMs = 30 * 24 * 60 * 60_000;
const laterKey = 'tessera-passkey-later';

/** The form that a passkey answers: `data-passkey` is `get` or `create`, `data-options` what the browser is asked for. */
const form = /** @type {HTMLFormElement | null} */ (document.querySelector('form[data-passkey]'));
/** The field of the password form that says that this browser makes passkeys. */
const offer = /** @type {HTMLInputElement | null} */ (document.getElementById('passkeys'));

let asking = new AbortController();

/**
 * Asks the browser, and sends what it answers.
 * @param {HTMLFormElement} of the form
 * @param {'conditional'} [mediation] the browser offers passkeys where it fills in user names, and answers once one is chosen
 */
async function ask(of, mediation) {
  // A browser has one dialog.
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const options =
    /** @type {PublicKeyCredentialCreationOptionsJSON & PublicKeyCredentialRequestOptionsJSON} */
    (JSON.parse(of.dataset['options'] ?? ''));
  const credential =
    of.dataset['passkey'] === 'create'
      ? await navigator.credentials.create({
          publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
          signal,
        })
      : await navigator.credentials.get({
          publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
          signal,
          ...(mediation && { mediation }),
        });
  const field = of.elements.namedItem(of.dataset['field'] ?? '');
  if (field instanceof HTMLInputElement) field.value = JSON.stringify(credential);
  of.submit();
}

/**
 * Says why there was no answer.
 * @param {HTMLFormElement} of the form
 * @param {unknown} error what the browser says
 */
function explain(of, error) {
  const problem = /** @type {HTMLElement | null} */ (of.querySelector('[role="alert"]'));
  if (problem === null || !(error instanceof DOMException) || error.name === 'AbortError') return;
  problem.hidden = false;
  problem.textContent =
    (error.name === 'InvalidStateError' ? of.dataset['present'] : of.dataset['none']) ?? '';
}

/** Whether the person has put it off; a browser that stores nothing is not asked. */
function isPutOff() {
  try {
    return Date.now() - Number(localStorage.getItem(laterKey)) < restMs;
  } catch {
    return true;
  }
}

function putOff() {
  try {
    localStorage.setItem(laterKey, String(Date.now()));
  } catch {
    // It is asked again.
  }
}

async function start() {
  if (typeof PublicKeyCredential !== 'function' || !('parseRequestOptionsFromJSON' in PublicKeyCredential))
    return;
  if (form !== null) {
    form.hidden = false;
    form.addEventListener('submit', (event) => {
      if (event.submitter instanceof HTMLButtonElement && event.submitter.name === 'passkey_later') {
        putOff();
        return;
      }
      event.preventDefault();
      ask(form).catch((error) => explain(form, error));
    });
  }
  if (
    offer !== null &&
    !isPutOff() &&
    (await PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable())
  )
    offer.value = 'make';
  if (
    form?.dataset['autofill'] !== undefined &&
    (await PublicKeyCredential.isConditionalMediationAvailable())
  )
    // The person may choose none, and use the button or a password.
    ask(form, 'conditional').catch(() => {});
}

void start();
