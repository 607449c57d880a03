import { createHash, X509Certificate } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { createServer, type Server } from 'node:https';
import { createAuthority, launchChromium } from '@tessera/test-kit';
import { eventually, freePort } from '@tessera/test-kit/provision';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemoServer, type DemoServer } from '../../harness/browser/demo-server.ts';
import { withDevice } from '../../harness/browser/person-with-device.ts';

const shared = 'id.tessera.example';
const own = 'login.moved.example';
const password = 'a passphrase that eve chose';

/** Over TLS at two hosts, as browsers ask for related origins (WebAuthn L3 §5.11) by https alone. */
describe('passkeys of a tenant that gets a host of its own, in a real Chromium', () => {
  let server: DemoServer;
  let tls: Server;
  let browser: Browser;

  beforeAll(async () => {
    const tlsPort = await freePort();
    server = await startDemoServer({ TESSERA_ISSUER: `https://${shared}` });
    const { hostname: host, port } = new URL(server.baseUrl);
    const pair = await (await createAuthority()).issue(shared);
    tls = createServer({ cert: pair.cert, key: pair.key }, (from, to) => {
      const { method, url, headers } = from;
      const onward = httpRequest({ host, port, method, path: url, headers }, (answer) => {
        to.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(to);
      });
      from.pipe(onward);
    });
    await new Promise<void>((resolve) => void tls.listen(tlsPort, '127.0.0.1', resolve));
    const key = new X509Certificate(pair.cert).publicKey.export({ type: 'spki', format: 'der' });
    browser = await launchChromium([
      `--host-resolver-rules=MAP ${shared}:443 127.0.0.1:${tlsPort}, MAP ${own}:443 127.0.0.1:${tlsPort}`,
      `--ignore-certificate-errors-spki-list=${createHash('sha256').update(key).digest('base64')}`,
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    tls?.closeAllConnections();
    tls?.close();
    await server?.stop();
  });

  const call = async (service: string, method: string, request: object) =>
    server.call(method, { tenantId: 'demo-two', ...request }, service);

  const move = async (passkeyDomain: string) =>
    call('TenantsService', 'Update', {
      tenant: { issuer: `https://${own}`, passkeyDomain },
      updateMask: 'issuer,passkeyDomain',
      takeOver: true,
    });

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  async function usePasskey(page: Page): Promise<void> {
    await eventually('the tenant is served at its own host', async () => {
      const answer = await page.goto(`https://${own}/approvals`);
      return answer?.status() === 200 && (await page.getByLabel('Password').count()) > 0;
    });
    await button(page, 'Use a passkey').click();
  }

  it('stay usable there if the tenant says so, and are not else', async () => {
    await call('UsersService', 'Create', { user: { username: 'mia', password } });
    await withDevice(browser, async ({ page, noAutofill }) => {
      await noAutofill();
      await page.goto(`https://${shared}/approvals?tenant=demo-two`);
      await page.getByLabel(/user name/i).fill('mia');
      await page.getByLabel('Password').fill(password);
      await button(page, 'Sign in').click();
      await button(page, 'Create a passkey').click();
      await page.getByText('Signed in as').waitFor();

      await move('own');
      await usePasskey(page);
      await page.getByRole('alert').filter({ hasText: 'No passkey was used' }).waitFor();

      await move('shared');
      await eventually('the shared host names the other', async () =>
        (await (await fetch(`${server.baseUrl}/.well-known/webauthn`)).text()).includes(own),
      );
      await usePasskey(page);
      await page.getByText('Signed in as').waitFor();
      expect(new URL(page.url()).host).toBe(own);
    });
  });
});
