import { chmodSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { file } from '../../testing/run-command.ts';
import type { Terminal } from '../../terminal.ts';
import { readSample, signInSample } from './sign-in-sample.ts';

const issuer = 'https://id.example/realms/harbour';
const endpoint = (name: string) => `${issuer}/protocol/openid-connect/${name}`;
const metadata = { issuer, authorization_endpoint: endpoint('auth'), token_endpoint: endpoint('token') };
const redirectUri = 'https://web.example/cb';
const web = {
  clientId: 'web',
  type: 'confidential',
  grantTypes: ['authorization_code'],
  redirectUris: [redirectUri],
  scopes: ['openid'],
};
const form = (...fields: readonly string[]) =>
  `<form action="/login">${fields.map((name) => `<input name="${name}" value="">`).join('')}</form>`;
const page = (html: string, status = 200) =>
  new Response(html, { status, headers: { 'x-request-id': '01REFERENCE' } });
const to = (location: string) => new Response(null, { status: 302, headers: { location } });
const ada = { username: 'ada', password: 'a passphrase of ada' };

/** What is printed where the password is answered so. */
async function walked(
  answer: (state: string) => Response,
  applications: readonly Readonly<Record<string, unknown>>[] = [web],
  begun = () => to('/login?interaction=1'),
  action = '/login',
) {
  let out = '';
  let state = '';
  const sent: string[] = [];
  const terminal: Terminal = {
    environment: {},
    out: (text) => (out += text),
    say: () => undefined,
    input: async () => '',
    sleep: async () => undefined,
    now: () => Date.now(),
    async fetch(input, init) {
      const url = new URL(input instanceof Request ? input.url : String(input));
      if (url.pathname.startsWith('/.well-known/')) return Response.json(metadata);
      if (url.pathname.endsWith('/auth')) {
        state = url.searchParams.get('state') ?? '';
        return begun();
      }
      if (url.pathname.endsWith('/token')) return Response.json({ error: 'invalid_grant' }, { status: 400 });
      if (init?.method !== 'POST')
        return page(form('csrf', 'identifier', 'password').replace('/login', action));
      sent.push(String(init.body as URLSearchParams));
      return answer(state);
    },
  };
  const worked = await signInSample([ada], applications, { tenantId: 'harbour', issuer }, terminal);
  expect(out).not.toContain(ada.password);
  return { worked, line: out.split('\n')[0], last: out.trimEnd().split('\n').at(-1), sent };
}

describe('a sample of people', () => {
  it('is signed in by the form of the page, and then sent to the application with a code', async () => {
    const { worked, line, last, sent } = await walked((state) => to(`${redirectUri}?code=c&state=${state}`));
    expect([worked, line]).toEqual([true, 'signed in: user ada']);
    expect(last).toBe(`Sign-ins at ${issuer} by application web: 1 signed in`);
    expect(sent).toEqual(['csrf=&identifier=ada&password=a+passphrase+of+ada']);
  });

  it.each<[string, string, boolean]>([
    ['asked for a second factor: user ada', form('csrf', 'totp_code'), true],
    ['asked for a code by mail: user ada', form('mail_code'), true],
    ['asked to set up a second factor: user ada', form('enrolment_code'), true],
    ['asked for consent: user ada', '<form action="/login"><button name="consent"></form>', true],
    [
      'refused: user ada: No (tessera why 01REFERENCE)',
      `<p role="alert">No.</p>${form('identifier', 'passkey')}`,
      false,
    ],
    ['refused: user ada: A new page (tessera why 01REFERENCE)', '<h1>A new page</h1>', false],
  ])('is %s', async (line, html, isWorking) => {
    const walk = await walked(() => page(html));
    expect([walk.worked, walk.line]).toEqual([isWorking, line]);
  });

  it('is refused if the application gets an error, no tokens, or another gets the code', async () => {
    expect((await walked(() => to(`${redirectUri}?error=access_denied`))).line).toBe(
      'refused: user ada: access_denied',
    );
    expect((await walked(() => to('https://evil.example/?code=c'))).line).toContain('to another place');
    const known = { ...web, secrets: [{ value: 's'.repeat(32) }] };
    const { worked, line } = await walked((state) => to(`${redirectUri}?code=c&state=${state}`), [known]);
    expect([worked, line]).toEqual([
      false,
      expect.stringMatching(/^refused: user ada: no tokens for the code: /),
    ]);
  });

  it.each(['https://evil.example/login', '//evil.example/login', 'http://id.example/login'])(
    'has no password sent to a form that goes to %s',
    async (action) => {
      const walk = walked(
        () => page(''),
        [web],
        () => to('/login'),
        action,
      );
      await expect(walk).rejects.toThrow(/^a form of \S+ goes to \S+, so nothing was sent$/);
    },
  );

  it('is refused where the authorization request is, and needs an application that signs people in', async () => {
    const { line } = await walked(
      () => page(''),
      [web],
      () => page('<h1>Unknown client</h1>', 400),
    );
    expect(line).toBe('refused: user ada: Unknown client (tessera why 01REFERENCE)');
    await expect(walked(() => page(''), [{ ...web, grantTypes: ['client_credentials'] }])).rejects.toThrow(
      'No application of the import signs people in',
    );
  });

  it('is read from CSV that others cannot read, without a word of it in errors', async () => {
    const noInput = { input: async () => 'username,password\nada,"a pass, with a comma"\n' };
    const path = file('username,password\nada,\n', 'sample.csv');
    chmodSync(path, 0o640);
    await expect(readSample(path, noInput)).rejects.toThrow(`Others can read ${path}, which has passwords.`);
    chmodSync(path, 0o600);
    await expect(readSample(path, noInput)).rejects.toThrow('Person 1 of');
    await expect(readSample(`${path}.none`, noInput)).rejects.toThrow('Cannot read the file');
    expect(await readSample('-', noInput)).toEqual([{ username: 'ada', password: 'a pass, with a comma' }]);
  });

  it('is not read before it is known that others cannot', async () => {
    const path = file(Buffer.from([0xff, 0xff]), 'sample.csv');
    chmodSync(path, 0o644);
    await expect(readSample(path, { input: async () => '' })).rejects.toThrow(`Others can read ${path}`);
  });

  it('is not read from a file of somebody else', async () => {
    const path = file('username,password\nada,a passphrase\n', 'sample.csv');
    chmodSync(path, 0o600);
    const other = vi.spyOn(process, 'getuid').mockReturnValue(4321);
    onTestFinished(() => other.mockRestore());
    await expect(readSample(path, { input: async () => '' })).rejects.toThrow(
      `${path} belongs to another user of this machine.`,
    );
  });
});
