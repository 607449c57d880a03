// A list follows what is typed into its search, and the arrow keys walk its rows. Without this file a button searches.

const pauseMs = 200;
let waiting = 0;
let asked = new AbortController();

/**
 * What the search of a form has found; null for a form that narrows nothing here.
 * @param {Element | null} form
 * @returns {HTMLElement | null}
 */
function resultsOf(form) {
  const next = form?.matches('[data-follows]') ? form.closest('search')?.nextElementSibling : undefined;
  return next instanceof HTMLElement && next.matches('.results') ? next : null;
}

/**
 * Whether a page is here, and not a way to one: a session that has ended leads elsewhere.
 * @param {Response} answer
 */
const isPage = (answer) => answer.ok && answer.type !== 'opaqueredirect';

/**
 * Says to who cannot see it what was found, or to everybody why nothing could be.
 * @param {HTMLFormElement} form
 * @param {'found' | 'ended' | 'failed'} what
 * @param {boolean} isUnseen
 * @param {HTMLElement | null} from which has the sentence; the status itself unless given
 */
function say(form, what, isUnseen, from = form.querySelector('[role=status]')) {
  const status = form.querySelector('[role=status]');
  if (status === null) return;
  status.classList.toggle('unseen', isUnseen);
  status.textContent = from?.dataset[what] ?? '';
}

/** @param {HTMLFormElement} form */
async function follow(form) {
  asked.abort();
  asked = new AbortController();
  const address = new URL(form.action);
  for (const [name, value] of new FormData(form))
    if (typeof value === 'string' && value !== '') address.searchParams.append(name, value);
  const field = form.querySelector('input[type=search]');
  try {
    const answer = await fetch(address, { signal: asked.signal, redirect: 'manual' });
    const page = isPage(answer) ? await answer.text() : '';
    if (!form.isConnected) return;
    const found = new DOMParser().parseFromString(page, 'text/html').querySelector('.results');
    const results = resultsOf(form);
    if (found instanceof HTMLElement && results !== null) {
      const wasInside = results.contains(document.activeElement);
      results.replaceWith(found);
      say(form, 'found', true, found);
      if (wasInside && field instanceof HTMLElement) field.focus();
      // What a dialog shows is no address of the page behind it.
      if (form.closest('dialog') === null) history.replaceState(null, '', address);
      document.dispatchEvent(new Event('shown'));
    } else if (form.closest('dialog') !== null) {
      // Behind it may be a form that is half filled in.
      say(form, answer.type === 'opaqueredirect' ? 'ended' : 'failed', false);
    } else {
      // The field has the focus there, too.
      address.hash = field?.id ?? '';
      location.assign(address);
    }
  } catch {
    // A later key has replaced this search, or the network failed: the button still works.
  }
}

/** @param {Event} event */
function typed(event) {
  const form = event.target instanceof Element ? event.target.closest('form') : null;
  if (form === null || resultsOf(form) === null) return;
  // Half a word of a script that is composed finds nothing.
  if (event instanceof InputEvent && event.isComposing) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => void follow(form), pauseMs);
}

document.addEventListener('input', typed);
document.addEventListener('compositionend', typed);

document.addEventListener('keydown', (event) => {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  const { target } = event;
  if (step === 0 || !(target instanceof HTMLElement) || event.isComposing) return;
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const isField = target.matches('form.search input[type=search]');
  const results = isField ? resultsOf(target.closest('form')) : target.closest('.results');
  if (!(results instanceof HTMLElement)) return;
  const rows = [...results.querySelectorAll('tbody tr, .items li')].filter(
    (row) => row.querySelector('a') !== null,
  );
  const at = isField ? -1 : rows.indexOf(target.closest('tr, li') ?? results);
  if (at < 0 && !isField) return;
  const field = results.previousElementSibling?.querySelector('input[type=search]');
  const next = rows[at + step]?.querySelector('a') ?? (at + step === -1 ? field : undefined);
  if (!(next instanceof HTMLElement) || next === target) return;
  event.preventDefault();
  next.focus();
});
