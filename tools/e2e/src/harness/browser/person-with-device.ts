import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

/**
 * A page in a browser of its own with a platform authenticator, as on a phone, whose owner answers whatever it asks.
 */
export interface Device {
  readonly page: Page;
  /** From the next page on, passkeys are used only when they are asked for. */
  noAutofill(): Promise<void>;
  /**
   * From the next page on, the browser offers passkeys in its own list, and uses the one that its owner chooses there.
   */
  listPasskeys(): Promise<void>;
  /** Opens that list at a field and takes one of its entries, counted from 1, by keyboard. */
  chooseListed(field: Locator, entry: number): Promise<void>;
  /** How many passkeys it holds. */
  credentials(): Promise<number>;
  /** What it calls the people of its passkeys. */
  names(): Promise<string[]>;
  /** From now on it does not recognize its owner, as when a finger is wet. */
  refuse(): Promise<void>;
  /** It does again. */
  recognize(): Promise<void>;
  /** It is lost: the passkeys are gone. */
  lose(): Promise<void>;
  /** The person gets another one; the passkeys of the one before are out of reach. */
  replace(): Promise<void>;
}

const platform = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const;

/** Lends a device to `work`. Fails if the browser refused part of a page by its content security policy. */
export async function withDevice(
  browser: Browser,
  work: (device: Device) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const context = await browser.newContext(options);
  try {
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) complaints.push(message.text());
    });
    const cdp = await context.newCDPSession(page);
    await Promise.all([cdp.send('Page.enable'), cdp.send('WebAuthn.enable')]);
    let withoutAutofill: string | undefined;
    const add = async () => {
      const added = await cdp.send('WebAuthn.addVirtualAuthenticator', { options: platform });
      return added.authenticatorId;
    };
    let authenticatorId = await add();
    /** A key that the browser takes, before the page does. */
    const press = async (key: string, windowsVirtualKeyCode: number) => {
      for (const type of ['rawKeyDown', 'keyUp'] as const)
        await cdp.send('Input.dispatchKeyEvent', {
          type,
          key,
          code: key,
          windowsVirtualKeyCode,
          nativeVirtualKeyCode: windowsVirtualKeyCode,
        });
    };
    const held = async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
    await work({
      page,
      async noAutofill() {
        const added = await cdp.send('Page.addScriptToEvaluateOnNewDocument', {
          source:
            'if (self.PublicKeyCredential) PublicKeyCredential.isConditionalMediationAvailable = async () => false',
        });
        withoutAutofill = added.identifier;
      },
      async listPasskeys() {
        const credentials = await held();
        if (withoutAutofill !== undefined)
          await cdp.send('Page.removeScriptToEvaluateOnNewDocument', { identifier: withoutAutofill });
        await cdp.send('WebAuthn.disable');
        await cdp.send('WebAuthn.enable', { enableUI: true });
        authenticatorId = await add();
        for (const credential of credentials)
          await cdp.send('WebAuthn.addCredential', { authenticatorId, credential });
      },
      async chooseListed(field, entry) {
        const at = page.url();
        // A list takes no key before it has been seen for a while, and a busy machine opens it late.
        for (let attempt = 0; attempt < 5 && page.url() === at; attempt += 1) {
          await sleep(1000);
          await field.blur();
          await field.click();
          await sleep(1200);
          for (let down = 0; down < entry; down += 1) {
            await press('ArrowDown', 40);
            await sleep(300);
          }
          await sleep(700);
          await press('Enter', 13);
          await page.waitForURL((url) => url.href !== at, { timeout: 3000 }).catch(() => undefined);
        }
      },
      credentials: async () => (await held()).length,
      names: async () => (await held()).map(({ userDisplayName = '' }) => userDisplayName),
      refuse: async () =>
        void (await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })),
      recognize: async () =>
        void (await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })),
      lose: async () => void (await cdp.send('WebAuthn.clearCredentials', { authenticatorId })),
      async replace() {
        await cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
        authenticatorId = await add();
      },
    });
    expect(complaints).toEqual([]);
  } finally {
    await context.close();
  }
}
