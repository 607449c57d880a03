// `/` or Ctrl+K opens the page "Find" over the one that is read. Without this file it is a page as others.

const switchedOff = 'tessera.console.slash';
const link = document.querySelector('nav.pages a[aria-keyshortcuts]');
const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
const chord = isMac ? 'Meta+K' : 'Control+K';
let isOpening = false;

const isSlashOn = () => localStorage.getItem(switchedOff) === null;

/** Shows the keys that open it now. */
function showKeys() {
  if (!(link instanceof HTMLElement)) return;
  link.setAttribute('aria-keyshortcuts', isSlashOn() ? `/ ${chord}` : chord);
  if (isSlashOn()) link.dataset['key'] = '/';
  else delete link.dataset['key'];
}

/** What people write into, or choose from. @param {EventTarget | null} target */
const takesKeys = (target) =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'));

/** Shows and keeps whether one key alone opens it (WCAG 2.2, 2.1.4). */
function offerSwitch() {
  for (const option of /** @type {NodeListOf<HTMLElement>} */ (
    document.querySelectorAll('label[data-switches]')
  )) {
    const box = option.querySelector('input');
    if (box === null) continue;
    option.hidden = false;
    box.checked = isSlashOn();
    box.addEventListener('change', () => {
      if (box.checked) localStorage.removeItem(switchedOff);
      else localStorage.setItem(switchedOff, 'off');
      showKeys();
    });
  }
}

/** What the page has, or where it is, if it does not come: a session that has ended begins anew there. @param {HTMLAnchorElement} way */
async function contentOf(way) {
  const answer = await fetch(way.href, { redirect: 'manual' }).catch(() => undefined);
  const page = answer?.ok ? await answer.text() : '';
  return new DOMParser().parseFromString(page, 'text/html').querySelector('.find') ?? way.cloneNode(true);
}

/** @param {HTMLAnchorElement} way */
async function open(way) {
  const content = await contentOf(way);
  const dialog = document.createElement('dialog');
  dialog.className = 'finds';
  dialog.setAttribute('closedby', 'any');
  dialog.setAttribute('aria-label', way.textContent ?? '');
  dialog.append(content);
  dialog.addEventListener('close', () => dialog.remove());
  // Enter opens the first of what was found for exactly this; the page shows it otherwise.
  dialog.addEventListener('submit', (event) => {
    const results = dialog.querySelector('.results');
    const first = results?.querySelector('a');
    const isFor = results instanceof HTMLElement && results.dataset['search'];
    if (
      !isFor ||
      isFor !== dialog.querySelector('input')?.value.trim() ||
      !(first instanceof HTMLAnchorElement)
    )
      return;
    event.preventDefault();
    location.assign(first.href);
  });
  document.body.append(dialog);
  dialog.showModal();
  dialog.querySelector('input')?.focus();
  offerSwitch();
}

if (link instanceof HTMLAnchorElement) {
  showKeys();
  document.addEventListener('keydown', (event) => {
    if (event.isComposing || event.repeat || isOpening || document.querySelector('dialog[open]') !== null)
      return;
    const isChord =
      (isMac ? event.metaKey : event.ctrlKey) && !event.altKey && event.key.toLowerCase() === 'k';
    const isSlash =
      event.key === '/' &&
      !(event.ctrlKey || event.metaKey || event.altKey || takesKeys(event.target)) &&
      isSlashOn();
    if (!isChord && !isSlash) return;
    event.preventDefault();
    const here = document.querySelector('main .find input');
    if (here instanceof HTMLElement) return here.focus();
    isOpening = true;
    void open(link).finally(() => {
      isOpening = false;
    });
  });
}
offerSwitch();
