// Lets people copy, download and print their recovery codes. Where this file does not run, a click selects all of them.

const codes = [...document.querySelectorAll('.codes code')].map(({ textContent }) => textContent);
const keep = document.getElementById('keep');
const status = keep?.querySelector('[role="status"]');

/** One a line. */
const text = codes.map((code) => `${code}\n`).join('');

/** @type {Readonly<Record<string, () => Promise<void> | void>>} */
const ways = {
  async copy() {
    await navigator.clipboard.writeText(text);
    if (status) status.textContent = keep?.dataset['copied'] ?? '';
  },
  download() {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([`${document.title}\n${location.host}\n\n${text}`]));
    link.download = 'recovery-codes.txt';
    link.click();
  },
  print: () => print(),
};

for (const button of keep?.querySelectorAll('button') ?? []) {
  const way = button.dataset['keep'] ?? '';
  // Browsers have no clipboard for pages without https.
  button.hidden = way === 'copy' && !isSecureContext;
  button.addEventListener('click', () => void Promise.resolve(ways[way]?.()).catch(() => {}));
}
if (keep !== null) keep.hidden = false;
