// Lets people see the password that they type. Where this file does not run, it stays hidden.

for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (
  document.querySelectorAll('input[data-show]')
)) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'plain show';
  button.textContent = field.dataset['show'] ?? '';
  button.setAttribute('aria-controls', field.id);
  const show = (/** @type {boolean} */ isShown) => {
    field.type = isShown ? 'text' : 'password';
    button.textContent = (isShown ? field.dataset['hide'] : field.dataset['show']) ?? '';
  };
  button.addEventListener('click', () => show(field.type === 'password'));
  // Browsers keep what was typed into other fields.
  field.form?.addEventListener('submit', () => show(false));
  field.insertAdjacentElement('afterend', button);
}
