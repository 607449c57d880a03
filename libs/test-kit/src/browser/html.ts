import { parse, type HTMLElement } from 'node-html-parser';

/** A form as it stands on a page. */
export interface Form {
  readonly action: URL;
  readonly method: 'GET' | 'POST';
  /** What a browser would send as the page stands: hidden, prefilled and checked controls; no buttons. */
  readonly fields: ReadonlyMap<string, string>;
  /** Names of every control, buttons included. */
  readonly names: readonly string[];
}

/** The forms of a page, in its order. */
export function parseForms(html: string, page: URL): Form[] {
  return parse(html)
    .querySelectorAll('form')
    .map((form) => {
      const controls = form
        .querySelectorAll('input, button, select, textarea')
        .filter((control) => control.hasAttribute('name') && !control.hasAttribute('disabled'));
      const sent = controls.filter(isSent).map((control) => [nameOf(control), valueOf(control)] as const);
      return {
        action: new URL(form.getAttribute('action') || page.href, page),
        method: form.getAttribute('method')?.toLowerCase() === 'post' ? 'POST' : 'GET',
        fields: new Map(sent),
        names: [...new Set(controls.map(nameOf))],
      };
    });
}

function nameOf(control: HTMLElement): string {
  return control.getAttribute('name') ?? '';
}

/** Whether a browser sends the control when nothing was changed and no button was used (HTML, form submission). */
function isSent(control: HTMLElement): boolean {
  switch (typeOf(control)) {
    case 'checkbox':
    case 'radio':
      return control.hasAttribute('checked');
    case 'submit':
    case 'button':
    case 'reset':
      return false;
    default:
      return true;
  }
}

function typeOf(control: HTMLElement): string {
  const type = control.getAttribute('type')?.toLowerCase();
  return type ?? (control.tagName === 'BUTTON' ? 'submit' : 'text');
}

function valueOf(control: HTMLElement): string {
  if (control.tagName === 'TEXTAREA') return control.text;
  if (control.tagName !== 'SELECT') {
    const isBox = ['checkbox', 'radio'].includes(typeOf(control));
    return control.getAttribute('value') ?? (isBox ? 'on' : '');
  }
  const options = control.querySelectorAll('option');
  const selected = options.find((option) => option.hasAttribute('selected')) ?? options[0];
  return selected?.getAttribute('value') ?? selected?.text ?? '';
}
