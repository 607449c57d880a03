/** Signs people in at the pages of Keycloak and of Tessera, which ask for the same in their own words. */
import { createHmac } from 'node:crypto';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { corp, corpAddress } from './corp.ts';
import type { Person } from './realm.ts';

/** What people did until they were back at the application. */
export type Step = 'password' | 'code' | 'passkey' | 'new passkey' | 'no passkey' | 'provider' | 'consent';

type Credentials = Awaited<ReturnType<typeof credentialsOf>>;

/** The passkeys of each person, by user name, on a device that outlives a browser. */
const devices = new Map<string, Credentials>();

/** What the pages ask for. */
const asked = {
  consent: 'button[name=accept], button[name=consent][value=allow]',
  code: 'input[name=otp], input[name=totp_code]',
  'new passkey': '#registerWebAuthn',
  'no passkey': 'button[name=passkey_later]',
  password: 'input[name=password]',
} as const satisfies Partial<Record<Step, string>>;

const username = 'input[name=username], input[name=identifier]';
const submit = '#kc-login, form:has(input[name=password], input[name=totp_code]) button[type=submit]';
const passkeyButton = '#authenticateWebAuthnButton, form[data-passkey=get] button[type=submit]';
const providerButton = `#social-${corp}, button[name=provider][value=${corp}]`;
const isAsking = Object.values(asked).join(', ');

/** Lends a browser of its own to a person, with their device. Says where it was if the walk fails. */
export async function inBrowser<T>(
  browser: Browser,
  who: Person,
  walk: (page: Page) => Promise<T>,
): Promise<T> {
  const context = await browser.newContext({ locale: 'en' });
  // Pages would take the one passkey of this device by themselves.
  await context.addInitScript(
    'if (self.PublicKeyCredential) PublicKeyCredential.isConditionalMediationAvailable = async () => false',
  );
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const device = await deviceOf(page, devices.get(who.username) ?? []);
  try {
    const result = await walk(page);
    devices.set(who.username, await credentialsOf(device.cdp, device.authenticatorId));
    return result;
  } catch (error) {
    const text = await page.innerText('body').catch(() => '');
    throw new Error(`${who.username}: ${String(error)}\n${page.url()}\n${text.slice(0, 1000)}`, {
      cause: error,
    });
  } finally {
    await context.close();
  }
}

/** Does what the pages ask for, until the application has the browser. */
export async function signIn(page: Page, who: Person, application: string): Promise<readonly Step[]> {
  const done: Step[] = [];
  const isBack = (): boolean => page.url().startsWith(application);
  // A page that goes there by script has the browser for a moment.
  await page.locator(isAsking).first().waitFor();
  for (let attempt = 0; attempt < 12 && !isBack(); attempt += 1) {
    const back = page.waitForURL((url) => url.href.startsWith(application));
    await Promise.any([back, page.locator(isAsking).first().waitFor()]);
    if (isBack()) break;
    const { step, button } = await fillIn(page, who);
    const next = page.waitForNavigation({ waitUntil: 'load' });
    const [answer] = await Promise.all([next, page.locator(button).first().click()]);
    // The server of a busy machine asks to try again.
    if (answer?.status() === 503) await page.goBack();
    else done.push(step);
  }
  return done;
}

/** What is asked for now, and what sends it. */
async function fillIn(page: Page, who: Person): Promise<{ step: Step; button: string }> {
  for (const step of ['consent', 'new passkey', 'no passkey'] as const)
    if (await page.locator(asked[step]).first().isVisible()) return { step, button: asked[step] };
  if (who.totp !== undefined && (await page.locator(asked.code).isVisible())) {
    await page.fill(asked.code, codeOf(who.totp));
    return { step: 'code', button: submit };
  }
  if (who.isOfCorp === true && !page.url().startsWith(corpAddress))
    return { step: 'provider', button: providerButton };
  if ((devices.get(who.username) ?? []).length > 0) return { step: 'passkey', button: passkeyButton };
  await page.fill(username, who.username);
  await page.fill(asked.password, who.password);
  return { step: 'password', button: submit };
}

async function deviceOf(page: Page, credentials: Credentials) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  for (const credential of credentials)
    await cdp.send('WebAuthn.addCredential', { authenticatorId, credential });
  return { cdp, authenticatorId };
}

async function credentialsOf(cdp: CDPSession, authenticatorId: string) {
  return (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials;
}

/** The code of an authenticator app (RFC 6238 §4), of six digits. */
function codeOf(key: string): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const digest = createHmac('sha1', key).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
