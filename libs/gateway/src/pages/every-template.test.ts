import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { loadLanguages } from '@tessera/languages';
import { hostileTexts } from '@tessera/pages/testing';
import { pageTemplates, samplePage, templates } from '../testing/sample-pages.ts';

const pages = [
  'account',
  'account-sign-in',
  'account-devices',
  'account-applications',
  'account-activity',
  'account-profile',
  'password',
  'forgotten-password',
  'register',
  'email-link',
  'mismatch',
  'sign-out',
  'signed-out',
  'no-sign-in',
  'error',
  'device',
  'device-confirm',
  'device-decided',
  'approvals',
  'tenant-form',
  'form-post',
  'new-password',
  'passkey',
  'passkey_enrolment',
  'notice',
  'consent',
  'totp',
  'totp_enrolment',
  'recovery_codes',
  'kit/confirm',
];

const language = loadLanguages().of('de');

describe.each(pages)('the page %s', (page) => {
  const render = (value: string) =>
    templates.render(
      page,
      {
        title: value,
        message: value,
        application: value,
        identifier: value,
        problem: value,
        requestId: value,
        tenant: { id: value, name: value },
        fields: [{ name: value, value }],
        signOut: [{ name: value, value }],
        path: value,
        uri: value,
        lead: value,
        leadName: value,
        tenantId: value,
        typed: value,
        email: value,
        recovers: true,
        registers: true,
        username: value,
        asksForPresent: true,
        advice: value,
        userCode: value,
        notice: value,
        passkey: { options: value, nonce: value },
        person: { name: value, organization: value },
        request: request(value),
        requests: [request(value), request(value)],
        account: value,
        summary: value,
        scopes: [{ name: value, description: value }],
        secret: value,
        qrCode: '',
        codes: [value, value],
        overview: {
          isWell: true,
          advice: [{ sentence: value, href: value, label: value }],
          last: { time: 1, ipAddress: value, browser: value, system: value },
          passkeys: 1,
          hasTotp: true,
          devices: 1,
          paths: { signIn: value, devices: value },
        },
        navigation: [{ path: value, label: value, isHere: true }],
        password: { path: value },
        profile: {
          name: value,
          username: value,
          email: value,
          phoneNumber: value,
          changeName: hidden(value),
          changeEmail: hidden(value),
          verifyEmail: hidden(value),
        },
        closing: { close: hidden(value) },
        passkeys: {
          passkeys: [
            { number: 1, name: value, created: 1, used: 1, rename: hidden(value), remove: hidden(value) },
          ],
          add: hidden(value),
        },
        factors: { removeTotp: hidden(value), recoveryCodes: 1, newCodes: hidden(value) },
        linkedProviders: {
          linked: [{ name: value, since: 0, unlink: hidden(value) }],
          others: [{ name: value, link: hidden(value) }],
        },
        takesRecoveryCode: true,
        apis: [],
        others: hidden(value),
        about: {
          publisher: value,
          homepage: { uri: value, host: value },
          words: { description: value, descriptions: { de: value } },
        },
        label: value,
        subject: value,
        back: value,
        ends: [[value, {}]],
        providers: { shown: [{ name: value, displayName: value }] },
        buttons: [{ name: value, label: value }],
        isNamed: true,
        sessions: {
          sessions: [session(value), { ...session(value), isThis: true }],
          endOthers: hidden(value),
        },
        applications: { applications: [application(value)] },
        activity: {
          events: [
            { sentence: value, application: value, time: 1, ipAddress: value, browser: value, system: value },
          ],
        },
      },
      language,
    );
  const hidden = (value: string) => [{ name: value, value }];
  const session = (value: string) => ({
    browser: value,
    system: value,
    ipAddress: value,
    began: 1,
    used: 1,
    isThis: false,
    end: hidden(value),
  });
  const application = (value: string) => ({
    name: value,
    words: { description: value },
    scopes: [
      { name: value, description: value, descriptions: { de: value } },
      { name: value, description: '' },
    ],
    apis: [],
    since: 1,
    used: 1,
    revoke: hidden(value),
  });
  const request = (value: string) => ({
    requestId: value,
    application: value,
    bindingMessage: value,
    scopes: [{ name: value, description: value }],
    apis: [{ name: value, scopes: [{ name: value, description: value }] }],
    ipAddress: value,
    sameAddress: false,
    fields: [{ name: value, value }],
  });
  const tags = (html: string) => html.match(/<[a-z!/%][^\s>]*/gi)?.join();

  it.each(hostileTexts)('shows %j only encoded, whatever its source (security case XSS-1)', (payload) => {
    const html = render(payload);
    expect(tags(html)).toBe(tags(render('plain')));
    if (/[<>"']/.test(payload)) expect(html).not.toContain(payload);
  });

  it('has a language, a title, one main heading, and a label for every control', () => {
    const html = render('x');
    expect(html).toMatch(/<html lang="de" dir="ltr"/);
    expect(html.match(/<h1>/g)).toHaveLength(1);
    const ids = [...html.matchAll(/<input id="([^"]+)"/g)].map(([, id]) => id);
    for (const id of ids) expect(html).toContain(`<label for="${id}">`);
  });
});

it.each([
  ['totp_enrolment', '<label for="enrolment_code"'],
  ['consent', '<div class="decision"'],
])('the page %s says what is wrong right before %s', (page, what) => {
  const html = templates.render(page, { ...samplePage(page) }, language);
  expect(html).toMatch(new RegExp(`role="alert"[^>]*>[^<]+</div>\\s*${what}`));
});

it.each(pageTemplates)(
  'the page %s has at most 60 KB in all, compressed, with its style and scripts',
  (page) => {
    const html = templates.render(page, { ...samplePage(page) }, language);
    const files = templates.assets.filter(({ path: file }) => html.includes(file));
    expect(files.length).toBeGreaterThan(1);
    const weights = [Buffer.from(html), ...files.map(({ body }) => body)].map(
      (each) => gzipSync(each).length,
    );
    expect(weights.reduce((sum, each) => sum + each, 0)).toBeLessThan(60 * 1024);
  },
);
