// Shows name, colours and logo in the preview while they are typed, and reads a logo from a file. Without this file the
// preview has what was typed once the form was sent.

const preview = /** @type {HTMLElement | null} */ (document.querySelector('.preview'));
const nameShown = document.getElementById('preview-name');
const logoShown = /** @type {HTMLCanvasElement | null} */ (document.getElementById('preview-logo'));
/** @returns {HTMLInputElement | null} */
const named = (/** @type {string} */ name) => document.querySelector(`form [name="${name}"]`);
const dark = matchMedia('(prefers-color-scheme: dark)');

/** The colour for the pages that this reader sees, as the style sheet chooses it. */
function showColor() {
  const [light = '', onDark = ''] = ['looks.accentColor', 'looks.accentColorDark'].map((name) =>
    named(name)?.value.trim(),
  );
  const color = dark.matches ? onDark : light;
  const isColor = /^#[0-9a-f]{6}$/.test(color);
  for (const property of ['--accent', '--accent-strong'])
    if (isColor) preview?.style.setProperty(property, color);
    else preview?.style.removeProperty(property);
}

async function showLogo() {
  const prefix = 'data:image/png;base64,';
  const value = named('looks.logo')?.value.trim() ?? '';
  if (logoShown === null) return;
  logoShown.hidden = true;
  if (!value.startsWith(prefix)) return;
  const bytes = Uint8Array.from(atob(value.slice(prefix.length)), (letter) => letter.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
  const height = Math.min(40, image.height);
  logoShown.height = height;
  logoShown.width = Math.round((image.width / image.height) * height);
  logoShown.getContext('2d')?.drawImage(image, 0, 0, logoShown.width, logoShown.height);
  logoShown.hidden = false;
}

const show = () => {
  showColor();
  if (nameShown !== null) nameShown.textContent = named('name')?.value ?? '';
  showLogo().catch(() => {});
};

document.querySelector('form')?.addEventListener('input', show);
dark.addEventListener('change', show);
show();

const file = /** @type {HTMLInputElement | null} */ (document.getElementById('logo-file'));
const pick = document.getElementById('pick-logo');
if (pick !== null) pick.hidden = false;
file?.addEventListener('change', () => {
  const reader = new FileReader();
  reader.addEventListener('load', () => {
    const logo = named('looks.logo');
    if (logo !== null) logo.value = typeof reader.result === 'string' ? reader.result : '';
    show();
  });
  if (file.files?.[0] !== undefined) reader.readAsDataURL(file.files[0]);
});
