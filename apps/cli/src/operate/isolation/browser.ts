import { createHmac } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { CommandError, type Terminal } from '../../terminal.ts';
import { wordsOf, type Answer } from './crossing.ts';

/** Where a server is and how it calls itself. */
export interface Place {
  /** Without a slash at the end. */
  readonly address: string;
  readonly issuer: string;
  /** Of whom the issuer is; undefined for the shared one. */
  readonly tenantId?: string;
}

/** What a person sees after redirects. */
export interface Page {
  readonly status: number;
  /** Where the browser was sent, if that is not the server; the page is empty then. */
  readonly location: URL | undefined;
  readonly text: string;
  readonly forms: readonly Form[];
  /** With which an administrator finds out more; '' if there is none. */
  readonly reference: string;
}

interface Form {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
  /** What a browser is asked for, as JSON; '' for nothing. */
  readonly options: string;
}

export type Fields = Readonly<Record<string, string>>;

const timeoutMs = 10_000;
const mostRedirects = 10;

/** A person's browser: keeps cookies, follows redirects of the server and fills in its forms. It runs no scripts. */
export class Browser {
  readonly #place: Place;
  readonly #fetch: Terminal['fetch'];
  readonly #cookies = new Map<string, string>();
  #result = '';

  constructor(place: Place, { fetch }: Pick<Terminal, 'fetch'>, cookies: Fields = {}) {
    this.#place = place;
    this.#fetch = fetch;
    for (const [name, value] of Object.entries(cookies)) this.#cookies.set(this.#nameOf(name), value);
  }

  /** The cookies that say who somebody is. */
  get cookies(): { readonly browser: string; readonly session: string } {
    const valueOf = (name: string): string => this.#cookies.get(this.#nameOf(name)) ?? '';
    return { browser: valueOf('browser'), session: valueOf('session') };
  }

  /** What the last answer said of a change, in a cookie for the next page. */
  get result(): string {
    return this.#result;
  }

  /** Opens a page by its path, which may have a query. */
  async open(path: string): Promise<Page> {
    return this.#ask(new URL(this.#place.address + path), undefined);
  }

  /**
   * Sends the form of a page that has a field. Throws CommandError if there is none, and for one that goes elsewhere:
   * it may have a password.
   */
  async submit({ forms, status }: Page, field: string, values: Fields): Promise<Page> {
    const form = forms.find(({ fields }) => field in fields);
    if (form === undefined) throw new CommandError(`a page with status ${status} has no form with ${field}`);
    const url = new URL(form.action, this.#place.address);
    if (!this.#isOurs(url))
      throw new CommandError(`a form of ${this.#place.issuer} goes to ${url.origin}, so nothing was sent`);
    return this.#ask(url, { ...form.fields, ...values });
  }

  /** Sends a form that no page showed: who holds a browser's cookie can make the proof of its forms. */
  async send(path: string, purpose: readonly string[], values: Fields): Promise<Page> {
    const proof = createHmac('sha256', this.cookies.browser).update(['csrf', ...purpose].join('\0'));
    return this.#ask(new URL(this.#place.address + path), { ...values, csrf: proof.digest('base64url') });
  }

  #isOurs({ origin }: URL): boolean {
    return [this.#place.issuer, this.#place.address].some((each) => new URL(each).origin === origin);
  }

  #nameOf(name: string): string {
    const { issuer, tenantId } = this.#place;
    return `${issuer.startsWith('https:') ? '__Host-' : ''}tessera_${name}${tenantId === undefined ? '' : `.${tenantId}`}`;
  }

  async #ask(url: URL, form: Fields | undefined, redirects = 0): Promise<Page> {
    if (redirects > mostRedirects) throw new CommandError(`${url.pathname} redirects without end`);
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await responseOf(this.#fetch, url, form, {
      accept: 'text/html',
      ...(cookie !== '' && { cookie }),
    });
    this.#keep(answer.headers.getSetCookie());
    const text = await answer.text();
    const reference = answer.headers.get('x-request-id') ?? '';
    const location = URL.parse(answer.headers.get('location') ?? '', url);
    if (answer.status < 300 || answer.status >= 400 || location === null)
      return { status: answer.status, location: undefined, text, forms: formsOf(text), reference };
    if (!this.#isOurs(location)) return { status: answer.status, location, text: '', forms: [], reference };
    return this.#ask(new URL(location.pathname + location.search, url), undefined, redirects + 1);
  }

  #keep(lines: readonly string[]): void {
    for (const line of lines) {
      const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
      const at = pair.indexOf('=');
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
      if (value === '' || attributes.some((each) => /^max-age=0$/i.test(each))) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
      if (/_(account_result|decided)/.test(name) && value !== '') this.#result = value;
    }
  }
}

async function responseOf(
  fetch: Terminal['fetch'],
  url: URL,
  form: Fields | undefined,
  headers: Fields,
): Promise<Response> {
  return fetch(url, {
    ...(form !== undefined && { method: 'POST', body: new URLSearchParams(form) }),
    headers,
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
  }).catch(() => {
    throw new CommandError(`${url.pathname} does not respond`);
  });
}

/** What an endpoint is asked with; without a form with GET. */
export interface Asked {
  readonly form?: Fields;
  readonly bearer?: string | undefined;
}

/** Asks an endpoint that answers JSON. */
export async function askEndpoint(
  { address }: Place,
  path: string,
  { form, bearer }: Asked,
  { fetch }: Pick<Terminal, 'fetch'>,
): Promise<{ readonly status: number; readonly body: JsonObject }> {
  const headers: Fields = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  const answer = await responseOf(fetch, new URL(address + path), form, headers);
  const text = await answer.text();
  return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as JsonObject };
}

/** What an endpoint answered. A poll that comes too early is one that waits. */
export function answerOf({ status, body }: { readonly status: number; readonly body: JsonObject }): Answer {
  const isWaiting = body['error'] === 'slow_down' || body['error'] === 'authorization_pending';
  return {
    words: isWaiting ? 'pending' : `${status} ${JSON.stringify(wordsOf(body))}`,
    text: JSON.stringify(body),
  };
}

/** The forms of our own pages, whose markup is known. */
function formsOf(html: string): Form[] {
  return [...html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)].map(([, start = '', inside = '']) => ({
    action: attribute(start, 'action') ?? '',
    options: attribute(start, 'data-options') ?? '',
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

/** What a page says. */
export function seen({ status, location, text, forms }: Page): Answer {
  if (location !== undefined) {
    const { searchParams, origin, pathname } = location;
    const given = searchParams.has('code') ? ' with a code' : '';
    return {
      words: `sent to ${origin}${pathname}${given} ${searchParams.get('error') ?? ''}`.trim(),
      text: location.href,
    };
  }
  const heading = /<h1[^>]*>(.*?)<\/h1>/s.exec(text)?.[1]?.trim() ?? 'without a heading';
  return {
    words: `${status} ${heading} (${[...new Set(forms.flatMap(({ fields }) => Object.keys(fields)))].join(', ')})`,
    text,
  };
}
