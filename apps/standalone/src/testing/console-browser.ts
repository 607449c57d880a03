/** What a page of the console answered. */
interface ConsoleAnswer {
  readonly status: number;
  readonly location: string;
  readonly html: string;
}

const unescaped = (text: string) =>
  text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&amp;', '&');

/** A browser at a console, without script and without memory. */
export function consoleBrowser(url: string) {
  async function visit(path: string, cookie: string, init: RequestInit = {}): Promise<ConsoleAnswer> {
    const response = await fetch(`${url}/console${path}`, {
      redirect: 'manual',
      ...init,
      headers: { accept: 'text/html', cookie, ...(init.headers as Record<string, string>) },
    });
    const html = unescaped(await response.text());
    return { status: response.status, location: response.headers.get('location') ?? '', html };
  }
  return {
    visit,
    /** Sends the form of a page, with its hidden fields. */
    async submit(
      path: string,
      cookie: string,
      fields: Readonly<Record<string, string>>,
    ): Promise<ConsoleAnswer> {
      const { html } = await visit(path, cookie);
      return visit(path, cookie, {
        method: 'POST',
        body: new URLSearchParams({ ...hiddenIn(html), ...fields }),
        headers: { 'sec-fetch-site': 'same-origin' },
      });
    },
    /** Sends the form that an answer is. */
    async confirm(
      path: string,
      cookie: string,
      { html }: ConsoleAnswer,
      fields = {},
    ): Promise<ConsoleAnswer> {
      return visit(path, cookie, {
        method: 'POST',
        body: new URLSearchParams({ ...hiddenIn(html), ...fields }),
        headers: { 'sec-fetch-site': 'same-origin' },
      });
    },
  };
}

function hiddenIn(html: string): Record<string, string> {
  const found = html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g);
  return Object.fromEntries([...found].map(([, name = '', value = '']) => [name, value]));
}
