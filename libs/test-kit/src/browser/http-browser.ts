import { request as requestHttp } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { CookieJar } from './cookies.ts';
import { parseForms, plainText } from './html.ts';
import type { Form } from './html.ts';

/** What came back for one request. A redirect is a page too: nothing is followed unless asked. */
export interface Page {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** The body as a reader sees it. */
  readonly text: string;
  /** Where a redirect points. */
  readonly location: URL | undefined;
  readonly forms: readonly Form[];
}

export interface NavigationOptions {
  readonly headers?: Readonly<Record<string, string>>;
}

type Fields = Readonly<Record<string, string>>;

/** A browser without script or pictures: navigations, cookies, forms. */
export interface HttpBrowser {
  readonly cookies: CookieJar;
  get(url: string | URL, options?: NavigationOptions): Promise<Page>;
  post(url: string | URL, fields: Fields, options?: NavigationOptions): Promise<Page>;
  /** Sends the page's form (the first, or the one that has a control of the name `having`) with `fields` filled in. */
  submit(
    page: Page,
    fields?: Fields,
    options?: NavigationOptions & { readonly having?: string },
  ): Promise<Page>;
  /** Follows redirects while `url` agrees; by default, all of them. Stops at the first page that is none. */
  follow(page: Page, agree?: (location: URL) => boolean): Promise<Page>;
}

export interface HttpBrowserOptions {
  /** PEM of the authority that signed the server's certificate. */
  readonly ca?: string;
  readonly userAgent?: string;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

const maximumRedirects = 20;
const timeoutMs = 30_000;

export function createHttpBrowser(options: HttpBrowserOptions = {}): HttpBrowser {
  const cookies = new CookieJar();

  async function navigate(url: URL, method: 'GET' | 'POST', headers: Fields, body?: string): Promise<Page> {
    const cookie = cookies.header(url);
    const answer = await exchange(url, method, body, options.ca, {
      accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
      'accept-language': 'en-US,en;q=0.9',
      'user-agent': options.userAgent ?? 'Mozilla/5.0 (X11; Linux x86_64) tessera-tests',
      'upgrade-insecure-requests': '1',
      'sec-fetch-dest': 'document',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-user': '?1',
      ...(cookie === undefined ? {} : { cookie }),
      ...options.headers,
      ...headers,
    });
    for (const line of answer.headers.getSetCookie()) cookies.set(url, line);
    const location = answer.headers.get('location');
    return {
      ...answer,
      url,
      text: plainText(answer.body),
      location: location === null ? undefined : new URL(location, url),
      forms: parseForms(answer.body, url),
    };
  }

  const browser: HttpBrowser = {
    cookies,
    get: (url, { headers } = {}) => navigate(new URL(url), 'GET', { 'sec-fetch-site': 'none', ...headers }),
    post: (url, fields, { headers } = {}) => {
      const target = new URL(url);
      return navigate(target, 'POST', { ...formHeaders(target, target), ...headers }, encode(fields));
    },
    submit: (page, fields = {}, { headers, having } = {}) => {
      const form = page.forms.find((each) => having === undefined || each.names.includes(having));
      if (!form) throw new Error(`no such form on the page, which says: ${page.text.slice(0, 200)}`);
      const filled = encode({ ...Object.fromEntries(form.fields), ...fields });
      if (form.method === 'POST') {
        return navigate(form.action, 'POST', { ...formHeaders(page.url, form.action), ...headers }, filled);
      }
      const target = new URL(form.action);
      target.search = filled;
      return navigate(target, 'GET', { ...metadata(page.url, target), ...headers });
    },
    follow: async (page, agree = () => true) => {
      let current = page;
      for (let count = 0; count < maximumRedirects; count += 1) {
        const { location } = current;
        if (!location || current.status < 300 || current.status > 399 || !agree(location)) return current;
        current = await navigate(location, 'GET', metadata(current.url, location));
      }
      throw new Error(`more than ${maximumRedirects} redirects`);
    },
  };
  return browser;
}

const encode = (fields: Fields) => new URLSearchParams({ ...fields }).toString();

const metadata = (from: URL, to: URL): Fields => ({
  'sec-fetch-site': from.origin === to.origin ? 'same-origin' : 'cross-site',
});

const formHeaders = (from: URL, to: URL): Fields => ({
  ...metadata(from, to),
  'content-type': 'application/x-www-form-urlencoded',
  origin: from.origin,
});

// Not fetch: it sets Sec-Fetch-Mode and Host itself, which these tests must be able to say.
function exchange(
  url: URL,
  method: string,
  body: string | undefined,
  ca: string | undefined,
  headers: Readonly<Record<string, string>>,
): Promise<{ status: number; headers: Headers; body: string }> {
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps : requestHttp;
    const length = body === undefined ? {} : { 'content-length': `${Buffer.byteLength(body)}` };
    const outgoing = request(
      url,
      { method, headers: { ...headers, ...length }, agent: false, timeout: timeoutMs, ...(ca ? { ca } : {}) },
      (incoming) => {
        read(incoming).then(
          (text) => resolve({ status: incoming.statusCode ?? 0, headers: headersOf(incoming), body: text }),
          reject,
        );
      },
    );
    outgoing.once('timeout', () =>
      outgoing.destroy(new Error(`no answer from ${url.origin}${url.pathname}`)),
    );
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

async function read(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function headersOf(incoming: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(incoming.headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  return headers;
}
