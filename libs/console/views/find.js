// `/` or Ctrl+K opens the page "Find" over the one that is read. Without this file it is a page as others.

const switchedOff = 'tessera.console.slash';
const link = document.querySelector('nav.pages a[aria-keyshortcuts]');

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
    box.checked = localStorage.getItem(switchedOff) === null;
    box.addEventListener('change', () => {
      if (box.checked) localStorage.removeItem(switchedOff);
      else localStorage.setItem(switchedOff, 'off');
    });
  }
}

/** @param {string} address */
async function open(address) {
  const answer = await fetch(address, { redirect: 'manual' }).catch(() => undefined);
  const page = answer?.ok ? await answer.text() : '';
  const found = new DOMParser().parseFromString(page, 'text/html').querySelector('.find');
  // A session that has ended begins anew there.
  if (found === null) return location.assign(address);
  const dialog = document.createElement('dialog');
  dialog.className = 'finds';
  dialog.setAttribute('closedby', 'any');
  dialog.setAttribute('aria-label', found.querySelector('h1')?.textContent ?? '');
  dialog.append(found);
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  found.querySelector('input')?.focus();
  offerSwitch();
}

if (link instanceof HTMLAnchorElement) {
  link.dataset['key'] = '/';
  document.addEventListener('keydown', (event) => {
    if (event.isComposing || event.repeat || document.querySelector('dialog[open]') !== null) return;
    const isChord = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k';
    const isSlash =
      event.key === '/' &&
      !(event.ctrlKey || event.metaKey || event.altKey || takesKeys(event.target)) &&
      localStorage.getItem(switchedOff) === null;
    if (!isChord && !isSlash) return;
    event.preventDefault();
    void open(link.href);
  });
}
offerSwitch();
