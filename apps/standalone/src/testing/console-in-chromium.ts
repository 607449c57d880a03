import { pageTable } from '@tessera/console/testing';
import { launchChromium } from '@tessera/test-kit';
import { consoleWorld, type ConsoleWorld } from './console-world.ts';

type Browser = Awaited<ReturnType<typeof launchChromium>>;
export type Page = Awaited<ReturnType<Browser['newPage']>>;

export const schemes = ['light', 'dark'] as const;
/** A phone, a window of 1280 pixels at 200 % zoom, and a desk. */
export const sizes = {
  '360px': { width: 360, height: 640 },
  '200%': { width: 640, height: 400 },
  desk: { width: 1280, height: 800 },
} as const;

// One that has come from the issuer, those that send the browser there, and a style sheet show nothing.
export const shownRows = pageTable.filter(
  ({ path }) => !['/start', '/callback', '/looks.css'].includes(path),
);

interface Appearance {
  readonly tag?: string;
  readonly scheme?: (typeof schemes)[number];
  readonly size?: keyof typeof sizes;
  readonly hasScript?: boolean;
  /** What the parts of the path name, besides somebody who stays. */
  readonly of?: Readonly<Record<string, string>>;
}

/** The console, with something to show, and an operator's browser at it. */
export async function consoleInChromium() {
  const world = await consoleWorld();
  const about = await world.somebody('acme', 'Ada Lovelace, Countess of a Very Long Name', true);
  await noteActivity(world, about);
  const browser = await launchChromium();
  /** What the content security policy kept from running. */
  const refused: string[] = [];
  return {
    world,
    about,
    browser,
    refused,
    /** A page of an operator in a language; two of them share nothing. */
    async opened(
      path: string,
      { tag = 'en', scheme = 'light', size = 'desk', hasScript = true, of = {} }: Appearance = {},
    ): Promise<Page> {
      const context = await browser.newContext({
        locale: tag,
        colorScheme: scheme,
        viewport: sizes[size],
        reducedMotion: 'reduce',
        javaScriptEnabled: hasScript,
      });
      const [name = '', value = ''] = (world.cookies.get('root') ?? '').split('=');
      await context.addCookies([{ name, value, url: world.url }]);
      const page = await context.newPage();
      page.on(
        'console',
        (message) =>
          void (/Refused|Content Security Policy/.test(message.text()) && refused.push(message.text())),
      );
      const query = path.endsWith('/why') ? '?reference=r-shown' : '';
      const address = `${world.url}/console${world.pathOf(path, { ...about, ...of })}${query}`;
      const answer = await page.goto(address);
      if (answer?.ok() !== true) throw new Error(`${address} answered ${answer?.status()}`);
      return page;
    },
    closed: async (page: Page) => page.context().close(),
  };
}

export type ConsoleInChromium = Awaited<ReturnType<typeof consoleInChromium>>;

async function noteActivity(
  world: ConsoleWorld,
  about: { readonly person: string; readonly application: string },
): Promise<void> {
  for (let at = 0; at < 12; at += 1) {
    const isFailure = at % 3 === 0;
    await world.noted(
      {
        event: isFailure ? 'auth.login.failed' : 'auth.login.succeeded',
        outcome: isFailure ? 'failure' : 'success',
        reason: isFailure ? 'wrong_credentials' : '',
        tenantId: 'acme',
        subject: about.person,
        clientId: about.application,
        requestId: 'r-shown',
        ipAddress: '2001:db8:85a3::8a2e:370:7334',
        details: { method: 'pwd', phase: 'password' },
      },
      Date.now() - at * 3_000_000,
    );
  }
}
