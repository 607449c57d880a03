// Passkeys (WebAuthn Level 3 §5.1). Where this file does not run, or the browser has none, the pages offer none.

/** How long a browser is left alone after "Not now". */
const restMs = 30 * 24 * 60 * 60_000;
const laterKey = 'tessera-passkey-later';
/** How old what a page asks for may get: the sign-in that it belongs to ends. */
const freshMs = 4 * 60_000;
/** What ends sooner was ended by the browser and not by a person. */
const personMs = 1000;
/** So often a browser that ends requests by itself is asked again. */
const mostTries = 3;

/**
 * The form that a passkey answers: `data-passkey` is `get` or `create`, `data-options` what the browser is asked for,
 * `data-fresh` the addresses of this page anew.
 */
const form = /** @type {HTMLFormElement | null} */ (document.querySelector('form[data-passkey]'));
/** The field of the password form that says that this browser makes passkeys. */
const offer = /** @type {HTMLInputElement | null} */ (document.getElementById('passkeys'));

let asking = new AbortController();
/** Cancels fetches once a form is sent: they would begin the sign-in again. */
let leaving = new AbortController();
/** Ends with the last request to the browser, whatever came of it. */
let last = Promise.resolve();
let isDialogOpen = false;
let renewed = Date.now();

/**
 * Asks the browser, and sends what it answers.
 * @param {HTMLFormElement} of the form
 * @param {'conditional'} [mediation] the browser answers once a passkey is chosen where it fills in user names, or makes one by itself
 */
async function ask(of, mediation) {
  // A browser takes one request at a time, and this one only once the one before has ended.
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const answer = last.then(() => credentialFor(of, signal, mediation));
  last = answer.then(
    () => {},
    () => {},
  );
  const credential = await answer;
  const field = of.elements.namedItem(of.dataset['field'] ?? '');
  if (field instanceof HTMLInputElement) field.value = JSON.stringify(credential);
  of.submit();
}

/**
 * @param {HTMLFormElement} of the form
 * @param {AbortSignal} signal ends the request
 * @param {'conditional'} [mediation] as above
 */
async function credentialFor(of, signal, mediation) {
  const options =
    /** @type {PublicKeyCredentialCreationOptionsJSON & PublicKeyCredentialRequestOptionsJSON} */
    (JSON.parse(of.dataset['options'] ?? ''));
  if (of.dataset['passkey'] !== 'create')
    return navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
      signal,
      ...(mediation && { mediation }),
    });
  // Nobody is asked, and so nobody is verified (§5.1.3).
  const { authenticatorSelection } = options;
  const alone = { authenticatorSelection: { ...authenticatorSelection, userVerification: 'preferred' } };
  const request = {
    publicKey: PublicKeyCredential.parseCreationOptionsFromJSON({ ...options, ...(mediation && alone) }),
    signal,
    ...(mediation && { mediation }),
  };
  return navigator.credentials.create(request);
}

/**
 * Says why there was no answer.
 * @param {HTMLFormElement} of the form
 * @param {unknown} error what the browser says
 */
function explain(of, error) {
  const problem = /** @type {HTMLElement | null} */ (of.querySelector('[role="alert"]'));
  if (problem === null || !(error instanceof DOMException)) return;
  problem.hidden = false;
  problem.textContent =
    (error.name === 'InvalidStateError' ? of.dataset['present'] : of.dataset['none']) ?? '';
}

/** @param {unknown} error what the browser says */
const isAborted = (error) => error instanceof DOMException && error.name === 'AbortError';

/**
 * Gets the page anew, and takes over what it asks for, so that its forms work as if it had just been opened. What was
 * typed stays.
 * @param {HTMLFormElement} of the form
 */
async function renew(of) {
  renewed = Date.now();
  const { signal } = leaving;
  for (const address of (of.dataset['fresh'] ?? '').split(' ').filter((each) => each !== '')) {
    if (signal.aborted) return;
    const page = await fetch(address, { headers: { accept: 'text/html' }, signal })
      .then(async (answer) => new DOMParser().parseFromString(await answer.text(), 'text/html'))
      .catch(() => undefined);
    const fresh = /** @type {HTMLFormElement | null | undefined} */ (
      page?.querySelector('form[data-passkey="get"]')
    );
    if (page === undefined || fresh?.dataset['options'] === undefined) continue;
    of.dataset['options'] = fresh.dataset['options'];
    of.dataset['fresh'] = fresh.dataset['fresh'] ?? '';
    takeOver(of, fresh);
    const [forms, others] = [[...document.forms], [...page.forms]];
    if (forms.length === others.length)
      forms.forEach((each, at) => others[at] !== undefined && takeOver(each, others[at]));
    return;
  }
}

/**
 * @param {HTMLFormElement} of a form
 * @param {HTMLFormElement} fresh the same form of the page that was got anew
 */
function takeOver(of, fresh) {
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (
    of.querySelectorAll('input[type="hidden"]')
  )) {
    const other = fresh.elements.namedItem(field.name);
    if (other instanceof HTMLInputElement && other.type === 'hidden' && other.value !== '')
      field.value = other.value;
  }
}

/**
 * Lets the browser offer passkeys where it fills in user names, and again after a try that failed.
 * @param {HTMLFormElement} of the form
 */
async function arm(of) {
  if (of.dataset['autofill'] === undefined) return;
  if (!(await PublicKeyCredential.isConditionalMediationAvailable())) return;
  for (let tries = 1; tries <= mostTries; tries += 1) {
    const began = Date.now();
    try {
      return await ask(of, 'conditional');
    } catch (error) {
      // The button took its place, or what the page asks for was renewed.
      if (isAborted(error)) return;
    }
    const wait = asking;
    const { signal } = leaving;
    if (Date.now() - began >= personMs) tries = 0;
    else await new Promise((resolve) => setTimeout(resolve, personMs * tries));
    if (wait !== asking || signal.aborted) return;
    await renew(of);
    if (wait !== asking || signal.aborted) return;
  }
}

/** @param {HTMLFormElement} of the form */
async function askByButton(of) {
  isDialogOpen = true;
  if (leaving.signal.aborted) leaving = new AbortController();
  try {
    await ask(of);
  } catch (error) {
    if (isAborted(error)) return;
    explain(of, error);
    isDialogOpen = false;
    await renew(of);
    await arm(of);
  }
}

/** @param {HTMLFormElement} of the form */
async function keepFresh(of) {
  if (isDialogOpen || leaving.signal.aborted || document.hidden || Date.now() - renewed < freshMs) return;
  await renew(of);
  if (!isDialogOpen && !leaving.signal.aborted) await arm(of);
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

/** Whether the browser makes passkeys by itself after a sign-in with a password that it keeps. */
async function makesAlone() {
  if (!('getClientCapabilities' in PublicKeyCredential)) return false;
  return (await PublicKeyCredential.getClientCapabilities())['conditionalCreate'] ?? false;
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
      void askByButton(form);
    });
  }
  if (
    offer !== null &&
    !isPutOff() &&
    (await PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable())
  )
    offer.value = 'make';
  if (form === null) return;
  // It is offered on the page, whatever comes of it.
  if (form.dataset['alone'] !== undefined && (await makesAlone())) ask(form, 'conditional').catch(() => {});
  if (form.dataset['passkey'] !== 'get') return;
  document.addEventListener('submit', (event) => {
    if (!event.defaultPrevented) leaving.abort();
  });
  document.addEventListener('visibilitychange', () => void keepFresh(form));
  setInterval(() => void keepFresh(form), freshMs / 4);
  await arm(form);
}

void start();
