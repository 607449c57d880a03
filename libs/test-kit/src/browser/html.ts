/** A form as it stands on a page. */
export interface Form {
  readonly action: URL;
  readonly method: 'GET' | 'POST';
  /** What a browser would send as the page stands: hidden, prefilled and checked controls; no buttons. */
  readonly fields: ReadonlyMap<string, string>;
  /** Names of every control, buttons included. */
  readonly names: readonly string[];
}

/** Enough reading of HTML for pages that we render ourselves; not for others. */
export function parseForms(html: string, page: URL): Form[] {
  return [...html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gis)].map(([, open = '', body = '']) => {
    const form = attributesOf(open);
    const fields = new Map<string, string>();
    const names: string[] = [];
    for (const control of controls(body)) {
      if (!names.includes(control.name)) names.push(control.name);
      if (control.sent) fields.set(control.name, control.value);
    }
    return {
      action: new URL(form.get('action') || page.href, page),
      method: form.get('method')?.toLowerCase() === 'post' ? 'POST' : 'GET',
      fields,
      names,
    };
  });
}

/** HTML as a reader sees it: no tags, entities decoded, white space collapsed. */
export function plainText(html: string): string {
  const visible = html.replace(/<(script|style)\b.*?<\/\1>/gis, ' ').replace(/<[^>]*>/g, ' ');
  return decodeEntities(visible).replace(/\s+/g, ' ').trim();
}

interface Control {
  readonly name: string;
  readonly value: string;
  readonly sent: boolean;
}

function* controls(body: string): Generator<Control> {
  for (const [, tag = '', rest = '', content = ''] of body.matchAll(
    /<(input|button|select|textarea)\b([^>]*)>(?:(.*?)<\/(?:select|textarea)>)?/gis,
  )) {
    const given = attributesOf(rest);
    const name = given.get('name');
    if (!name || given.has('disabled')) continue;
    const kind = tag.toLowerCase();
    const type = given.get('type')?.toLowerCase() ?? (kind === 'button' ? 'submit' : 'text');
    if (kind === 'textarea') yield { name, value: decodeEntities(content), sent: true };
    else if (kind === 'select') yield { name, value: selected(content), sent: true };
    else if (type === 'checkbox' || type === 'radio')
      yield { name, value: given.get('value') ?? 'on', sent: given.has('checked') };
    else yield { name, value: given.get('value') ?? '', sent: type !== 'submit' && type !== 'button' };
  }
}

function selected(options: string): string {
  const all = [...options.matchAll(/<option\b([^>]*)>/gi)].map(([, rest = '']) => attributesOf(rest));
  return (all.find((option) => option.has('selected')) ?? all[0])?.get('value') ?? '';
}

function attributesOf(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [, name = '', double, single, bare] of text.matchAll(
    /([\w:-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g,
  )) {
    found.set(name.toLowerCase(), decodeEntities(double ?? single ?? bare ?? ''));
  }
  return found;
}

const named: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};

function decodeEntities(text: string): string {
  return text.replace(
    /&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi,
    (whole, hex?: string, decimal?: string, name?: string) => {
      if (hex) return String.fromCodePoint(Number.parseInt(hex, 16));
      if (decimal) return String.fromCodePoint(Number(decimal));
      return named[name ?? ''] ?? whole;
    },
  );
}
