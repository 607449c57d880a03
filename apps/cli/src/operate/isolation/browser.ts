import { createHmac } from 'node:crypto';
import { CommandError, type Terminal } from '../../terminal.ts';

/** What a person sees after redirects. */
export interface Page {
  readonly status: number;
  /** Where the browser was sent, if that is not the server; the page is empty then. */
  readonly location: URL | undefined;
  readonly text: string;
  readonly forms: readonly Form[];
}

interface Form {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Where a server is and how it calls itself. */
export interface Place {
  /** Without a slash at the end. */
  readonly address: string;
  readonly issuer: string;
}

const timeoutMs = 10_000;
const mostRedirects = 10;

/** A person's browser: keeps cookies, follows redirects of the server and fills in its forms. It runs no scripts. */
export class Browser {
  readonly #place: Place;
  readonly #fetch: Terminal['fetch'];
  readonly #cookies = new Map<string, string>();

  constructor(place: Place, { fetch }: Pick<Terminal, 'fetch'>) {
    this.#place = place;
    this.#fetch = fetch;
  }

  /** Opens a page by its path, which may have a query. */
  async open(path: string): Promise<Page> {
    return this.#ask(new URL(this.#place.address + path), undefined);
  }

  /** Sends the form of a page that has a field. Throws CommandError if there is none. */
  async submit(
    { forms, status }: Page,
    field: string,
    values: Readonly<Record<string, string>>,
  ): Promise<Page> {
    const form = forms.find(({ fields }) => field in fields);
    if (form === undefined) throw new CommandError(`a page with status ${status} has no form with ${field}`);
    const action = new URL(form.action, this.#place.address);
    return this.#ask(action, { ...form.fields, ...values });
  }

  /** Approves a request, also one that no page showed: who holds a browser's cookie can make the proof of its forms. */
  async approve(path: '/device' | '/approvals', request: string): Promise<Page> {
    const [, browserId = ''] = [...this.#cookies].find(([name]) => name.endsWith('tessera_browser')) ?? [];
    const csrf = createHmac('sha256', browserId).update(`csrf\0decide\0${request}`).digest('base64url');
    const form = { request, user_code: 'WWWW-WWWW', decision: 'approve', csrf };
    return this.#ask(new URL(this.#place.address + path), form);
  }

  async #ask(url: URL, form: Readonly<Record<string, string>> | undefined, redirects = 0): Promise<Page> {
    if (redirects > mostRedirects) throw new CommandError(`${url.pathname} redirects without end`);
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { accept: 'text/html', ...(cookie !== '' && { cookie }) };
    const answer = await this.#fetch(url, {
      method: form === undefined ? 'GET' : 'POST',
      headers,
      ...(form !== undefined && { body: new URLSearchParams(form) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    }).catch(() => undefined);
    if (answer === undefined) throw new CommandError(`${url.pathname} does not respond`);
    this.#keep(answer.headers.getSetCookie());
    const text = await answer.text();
    const location = URL.parse(answer.headers.get('location') ?? '', url);
    if (answer.status < 300 || answer.status >= 400 || location === null)
      return { status: answer.status, location: undefined, text, forms: formsOf(text) };
    const ours = [this.#place.issuer, this.#place.address].map((each) => new URL(each).origin);
    if (!ours.includes(location.origin)) return { status: answer.status, location, text: '', forms: [] };
    return this.#ask(new URL(location.pathname + location.search, url), undefined, redirects + 1);
  }

  #keep(lines: readonly string[]): void {
    for (const line of lines) {
      const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
      const at = pair.indexOf('=');
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
      if (value === '' || attributes.some((each) => /^max-age=0$/i.test(each))) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
  }
}

/** The forms of our own pages, whose markup is known. */
function formsOf(html: string): Form[] {
  return [...html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)].map(([, start = '', inside = '']) => ({
    action: attribute(start, 'action') ?? '',
    fields: Object.fromEntries(
      [...inside.matchAll(/<input\b([^>]*)>/g)].flatMap(([, input = '']) => {
        const name = attribute(input, 'name');
        return name === undefined ? [] : [[name, attribute(input, 'value') ?? '']];
      }),
    ),
  }));
}

function attribute(tag: string, name: string): string | undefined {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
  const characters: Readonly<Record<string, string>> = { quot: '"', '#39': "'", lt: '<', gt: '>', amp: '&' };
  return value?.replaceAll(/&(quot|#39|lt|gt|amp);/g, (_all, entity: string) => characters[entity] ?? '');
}

/** What a page says, without what differs from one visit to the next. */
export function summaryOf({ status, location, text, forms }: Page): string {
  if (location !== undefined) {
    const { searchParams, origin, pathname } = location;
    const given = searchParams.has('code') ? ' with a code' : '';
    return `sent to ${origin}${pathname}${given} ${searchParams.get('error') ?? ''}`.trim();
  }
  const heading = /<h1[^>]*>(.*?)<\/h1>/s.exec(text)?.[1]?.trim() ?? 'without a heading';
  return `${status} ${heading} (${forms.flatMap(({ fields }) => Object.keys(fields)).join(', ')})`;
}
