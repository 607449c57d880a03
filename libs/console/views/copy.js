// Copies a text of the page that somebody would mark otherwise. Where this file does not run there is no button.

for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (
  document.querySelectorAll('button[data-copies]')
)) {
  const text = document.getElementById(button.dataset['copies'] ?? '')?.textContent ?? '';
  // Browsers have no clipboard for pages without https.
  button.hidden = !isSecureContext;
  button.addEventListener('click', () => {
    void navigator.clipboard.writeText(text).then(() => {
      button.textContent = button.dataset['done'] ?? '';
    });
  });
}
