import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { run } from './run.ts';
import type { Terminal } from './terminal.ts';

interface Sent {
  readonly url: string;
  readonly form: Record<string, string>;
  readonly authorization: string | null;
  readonly atSecond: number;
}

type Reply = [status: number, body: object, headers?: Record<string, string>] | 'no answer';

const issuer = 'https://id.example.com';
const metadata = {
  issuer,
  token_endpoint: `${issuer}/token`,
  device_authorization_endpoint: `${issuer}/device_authorization`,
  backchannel_authentication_endpoint: `${issuer}/backchannel_authentication`,
};
const device = {
  device_code: 'dc',
  user_code: 'WDJB-MJHT',
  verification_uri: `${issuer}/device`,
  verification_uri_complete: `${issuer}/device?user_code=WDJB-MJHT`,
  expires_in: 600,
  interval: 5,
};
const tokens = { access_token: 'at', token_type: 'Bearer', expires_in: 600 };
const pending: Reply = [400, { error: 'authorization_pending' }];
const slowDown: Reply = [400, { error: 'slow_down' }];

/** The path of a file that lasts for one test. */
function fileWith(text: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'tessera-cli-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'file');
  writeFileSync(file, text);
  return file;
}

/** A terminal whose time passes only by waiting, and a server that gives the prepared responses. */
function world(replies: Reply[], environment: Record<string, string> = {}, document: object = metadata) {
  const sent: Sent[] = [];
  const printed = { out: '', say: '' };
  let clock = 0;
  const terminal: Terminal = {
    environment: { TESSERA_ISSUER: issuer, TESSERA_CLIENT_ID: 'tv', ...environment },
    out: (text) => (printed.out += text),
    say: (text) => (printed.say += text),
    input: async () => '',
    sleep: async (milliseconds) => {
      clock += milliseconds;
    },
    now: () => clock,
    fetch: async (url, init) => {
      const target = String(url instanceof Request ? url.url : url);
      if (target.includes('/.well-known/')) return Response.json(document);
      const headers = new Headers(init?.headers);
      sent.push({
        url: target,
        form: Object.fromEntries(new URLSearchParams(init?.body instanceof URLSearchParams ? init.body : '')),
        authorization: headers.get('authorization'),
        atSecond: clock / 1000,
      });
      const reply = replies.shift() ?? 'no answer';
      if (reply === 'no answer') throw new TypeError('fetch failed');
      const [status, body, more] = reply;
      return Response.json(body, { status, ...(more === undefined ? {} : { headers: more }) });
    },
  };
  return { terminal, sent, printed };
}

describe('tessera flow device', () => {
  it('shows code and QR code, polls, and prints only the token response on standard output', async () => {
    const { terminal, sent, printed } = world([[200, device], pending, [200, tokens]]);
    expect(await run(['flow', 'device', '--scope', 'openid profile'], terminal)).toBe(0);
    expect(JSON.parse(printed.out)).toEqual(tokens);
    expect(printed.say).toContain('WDJB-MJHT');
    expect(printed.say).toContain(`${issuer}/device\n`);
    expect(printed.say).toMatch(/[▀▄█]/);
    expect(sent[0]).toMatchObject({
      url: metadata.device_authorization_endpoint,
      form: { client_id: 'tv', scope: 'openid profile' },
      authorization: null,
    });
    expect(sent[2]).toMatchObject({
      url: metadata.token_endpoint,
      form: {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code: 'dc',
        client_id: 'tv',
      },
    });
  });

  it('polls at the interval, five seconds longer after every slow_down (RFC 8628 §3.5)', async () => {
    const replies: Reply[] = [[200, device], pending, slowDown, pending, slowDown, [200, tokens]];
    const { terminal, sent } = world(replies);
    expect(await run(['flow', 'device', '--no-qr'], terminal)).toBe(0);
    expect(sent.slice(1).map(({ atSecond }) => atSecond)).toEqual([5, 10, 20, 30, 45]);
  });

  it('doubles the interval while the server does not respond, and respects Retry-After (RFC 8628 §3.5)', async () => {
    const busy: Reply = [503, { error: 'temporarily_unavailable' }, { 'retry-after': '60' }];
    const { terminal, sent } = world([[200, device], 'no answer', 'no answer', busy, pending, [200, tokens]]);
    expect(await run(['flow', 'device', '--no-qr'], terminal)).toBe(0);
    expect(sent.slice(1).map(({ atSecond }) => atSecond)).toEqual([5, 15, 35, 95, 100]);
  });

  it.each([
    ['access_denied', 'access_denied: No.'],
    ['expired_token', 'expired_token: No.'],
    ['invalid_grant', 'invalid_grant: No.'],
  ])('exits with code 1 and no result on %s', async (error, message) => {
    const { terminal, printed } = world([
      [200, device],
      [400, { error, error_description: 'No.' }],
    ]);
    expect(await run(['flow', 'device', '--no-qr'], terminal)).toBe(1);
    expect(printed.say).toContain(message);
    expect(printed.out).toBe('');
  });

  it('stops by itself when the request expires', async () => {
    const { terminal, sent, printed } = world([[200, { ...device, expires_in: 12 }], pending, pending]);
    expect(await run(['flow', 'device', '--no-qr'], terminal)).toBe(1);
    expect(sent).toHaveLength(3);
    expect(printed.say).toContain('expired');
  });

  it('uses five seconds if no interval is given (RFC 8628 §3.2)', async () => {
    const { interval: _interval, ...rest } = device;
    const { terminal, sent } = world([
      [200, rest],
      [200, tokens],
    ]);
    await run(['flow', 'device', '--no-qr'], terminal);
    expect(sent[1]?.atSecond).toBe(5);
  });

  it('authenticates with HTTP Basic, each half encoded (RFC 6749 §2.3.1), also with a secret from a file', async () => {
    const file = fileWith('a:b c\n');
    const { terminal, sent } = world(
      [
        [200, device],
        [200, tokens],
      ],
      { TESSERA_CLIENT_SECRET_FILE: file },
    );
    await run(['flow', 'device', '--no-qr', '--client-id', 'a b'], terminal);
    const expected = `Basic ${Buffer.from('a+b:a%3Ab+c').toString('base64')}`;
    expect(sent.map(({ authorization }) => authorization)).toEqual([expected, expected]);
    for (const { form } of sent) expect(form).not.toHaveProperty('client_secret');
    expect(sent[1]?.form).not.toHaveProperty('client_id');
  });

  it('removes control characters of the server from terminal output', async () => {
    const hostile = { ...device, user_code: 'A\u001b[2JB' };
    const { terminal, printed } = world([
      [200, hostile],
      [200, tokens],
    ]);
    await run(['flow', 'device', '--no-qr'], terminal);
    expect(printed.say).toContain('A[2JB');
    expect(printed.say).not.toContain('\u001b');
  });

  it('refuses the metadata of another issuer (RFC 8414 §3.3)', async () => {
    const { terminal, sent } = world([], {}, { ...metadata, issuer: 'https://evil.example' });
    expect(await run(['flow', 'device'], terminal)).toBe(1);
    expect(sent).toEqual([]);
  });
});

describe('an issuer without TLS', () => {
  it('gets neither an application nor its secret, unless it is this machine', async () => {
    const environment = { TESSERA_CLIENT_SECRET: 's', TESSERA_ISSUER: 'http://id.example.com' };
    const { terminal, sent, printed } = world([], environment);
    expect(await run(['flow', 'device'], terminal)).toBe(2);
    expect(printed.say).toContain('The issuer http://id.example.com must begin with https://');
    expect(sent).toEqual([]);
    const here = 'http://localhost:8080';
    const refused: Reply = [400, { error: 'invalid_client' }];
    const local = world([refused], { ...environment, TESSERA_ISSUER: here }, { ...metadata, issuer: here });
    await run(['flow', 'device', '--no-qr'], local.terminal);
    expect(local.sent).toHaveLength(1);
  });
});

describe('tessera flow ciba', () => {
  it('starts a request and prints the token response', async () => {
    const started = { auth_req_id: 'ar', expires_in: 300, interval: 2 };
    const { terminal, sent, printed } = world([[200, started], pending, [200, tokens]]);
    const args = ['--login-hint', 'ada', '--binding-message', 'W4SCT', '--client-secret', 's'];
    expect(await run(['flow', 'ciba', ...args], terminal)).toBe(0);
    expect(JSON.parse(printed.out)).toEqual(tokens);
    expect(printed.say).toContain('W4SCT');
    expect(sent[0]?.form).toEqual({
      scope: 'openid',
      login_hint: 'ada',
      binding_message: 'W4SCT',
      client_id: 'tv',
    });
    expect(sent[2]).toMatchObject({
      form: { grant_type: 'urn:openid:params:grant-type:ciba', auth_req_id: 'ar' },
      atSecond: 4,
    });
  });

  it('prints an error of the server', async () => {
    const refused: Reply = [400, { error: 'unauthorized_client', error_description: 'Not this one.' }];
    const { terminal, printed } = world([refused]);
    expect(await run(['flow', 'ciba', '--login-hint', 'ada'], terminal)).toBe(1);
    expect(printed.say).toBe('unauthorized_client: Not this one.\n');
  });

  /** Runs the flow with a listener and sends it pings, the good one last; returns the response statuses. */
  async function runPinged(replies: Reply[], said: object = {}) {
    const port = await freePort();
    const { terminal, sent, printed } = world([[200, { auth_req_id: 'ar', expires_in: 300 }], ...replies]);
    const statuses: Promise<number[]>[] = [];
    const post = async (token: string | undefined, body: object): Promise<number> => {
      const headers = { authorization: `Bearer ${token}` };
      const url = `http://127.0.0.1:${port}/`;
      return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).status;
    };
    const ping = async (): Promise<number[]> => {
      const token = sent[0]?.form['client_notification_token'];
      return [
        await post('of someone else', { auth_req_id: 'ar' }),
        await post(token, { auth_req_id: 'another' }),
        await post(token, {}),
        await post(token, { ...said, auth_req_id: 'ar' }),
      ];
    };
    const say = terminal.say;
    const pinging: Terminal = {
      ...terminal,
      say(text) {
        say(text);
        if (text.includes('Waiting')) statuses.push(ping());
      },
    };
    const code = await run(['flow', 'ciba', '--login-hint', 'ada', '--listen', String(port)], pinging);
    return { code, printed, sent, statuses: (await Promise.all(statuses)).flat() };
  }

  it('polls at once after a ping with its notification token (CIBA Core §10.2)', async () => {
    const { code, printed, sent, statuses } = await runPinged([[200, tokens]]);
    expect([code, JSON.parse(printed.out)]).toEqual([0, tokens]);
    expect(sent[0]?.form['client_notification_token']).toMatch(/^[A-Za-z0-9_-]{27}$/);
    expect(sent[1]).toMatchObject({ form: { auth_req_id: 'ar' }, atSecond: 0 });
    expect(sent).toHaveLength(2);
    expect(statuses).toEqual([401, 204, 400, 204]);
  });

  it('takes no tokens from its callback (CIBA Core §10.3, which the server does not offer)', async () => {
    const { code, printed } = await runPinged([[400, { error: 'access_denied' }]], tokens);
    expect([code, printed.out]).toEqual([1, '']);
    expect(printed.say).toContain('access_denied');
  });

  it('gives up when no ping arrives in time', async () => {
    const port = await freePort();
    const { terminal, printed } = world([[200, { auth_req_id: 'ar', expires_in: 0.1 }]]);
    expect(await run(['flow', 'ciba', '--login-hint', 'ada', '--listen', String(port)], terminal)).toBe(1);
    expect(printed.say).toContain('expired');
  });
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

describe('tessera webhook-key', () => {
  const args = ['webhook-key', '--tenant', 'acme', '--client-id', 'acme-desk'];

  it('prints the signing key of the server, also from a file (Standard Webhooks)', async () => {
    const key = 'a-webhook-key-of-at-least-32-characters';
    const file = fileWith(`${key}\n`);
    const { terminal, printed } = world([], { TESSERA_WEBHOOK_KEY_FILE: file });
    expect(await run(args, terminal)).toBe(0);
    expect(await run([...args, '--key', key], terminal)).toBe(0);
    const derived = createHmac('sha256', key).update('sign\0acme\0acme-desk').digest('base64');
    expect(printed.out).toBe(`whsec_${derived}\n`.repeat(2));
  });

  it('refuses a key that every server would refuse', async () => {
    const { terminal, printed } = world([]);
    expect(await run([...args, '--key', 'short'], terminal)).toBe(2);
    expect(printed.say).toContain('at least 32 characters');
  });
});

describe('tessera secret new', () => {
  it('prints only a new secret of 43 characters each time', async () => {
    const { terminal, printed } = world([]);
    expect(await run(['secret', 'new'], terminal)).toBe(0);
    expect(await run(['secret', 'new'], terminal)).toBe(0);
    expect(printed.out).toMatch(/^([A-Za-z0-9_-]{43}\n){2}$/);
    expect(new Set(printed.out.trim().split('\n')).size).toBe(2);
    expect(printed.say).toBe('');
  });
});

describe('tessera', () => {
  it.each([
    [[], 0, 'Usage: tessera '],
    [['--help'], 0, 'webhook-key'],
    [['flow'], 2, 'Usage: tessera flow '],
    [['flow', '--help'], 0, 'ciba [options]'],
    [['config', '-h'], 0, 'check [options]'],
    [['help'], 0, 'Usage: tessera '],
    [['epoch', 'help'], 0, 'bump [options]'],
    [['nonsense'], 2, "unknown command 'nonsense'"],
    [['flow', 'nonsense'], 2, "unknown command 'nonsense'"],
    [['secret', 'new', 'extra'], 2, 'too many arguments'],
    [['flow', 'ciba', '--help'], 0, '--login-hint'],
    [['flow', 'ciba'], 2, "required option '--login-hint <hint>' not specified"],
    [['flow', 'ciba', '--login-hint', ''], 2, 'It must not be empty.'],
    [['flow', 'ciba', '--login-hint', 'ada', '--listen', 'x'], 2, 'It must be a port.'],
    [['flow', 'device', '--nonsense'], 2, 'tessera flow device --help explains it.'],
    [['flow', 'device', '--client-id', ''], 2, '--client-id or TESSERA_CLIENT_ID is required.'],
  ])('answers %j with exit code %d and %j', async (args, code, text) => {
    const { terminal, printed } = world([], { TESSERA_CLIENT_ID: '' });
    expect(await run(args, terminal)).toBe(code);
    // Help that was asked for is the result; with an error it is a message.
    const [expected, other] = code === 0 ? [printed.out, printed.say] : [printed.say, printed.out];
    expect(expected).toContain(text);
    expect(other).toBe('');
  });

  it('lists only the commands of a group', async () => {
    const { terminal, printed } = world([]);
    await run(['flow', '--help'], terminal);
    expect(printed.out.match(/^ {2}[a-z]+ \[/gm)).toEqual(['  device [', '  ciba [', '  help [']);
  });
});

describe('tessera completion', () => {
  /** What the library writes, which knows standard output alone. */
  async function written(...words: string[]): Promise<string> {
    const log = vi.spyOn(console, 'log').mockReturnValue(undefined);
    onTestFinished(() => log.mockRestore());
    expect(await run(words, world([]).terminal)).toBe(0);
    return log.mock.calls.flat().join('\n');
  }

  it.each(['bash', 'zsh', 'fish'])('prints a script for %s that asks tessera', async (shell) => {
    expect(await written('completion', shell)).toContain('tessera complete --');
  });

  it.each([
    [['us'], 'user\t'],
    [['session', 're'], 'revoke\t'],
    [['user', 'cr'], 'create\t'],
    [['application', 'update', '--te'], '--tenant\t'],
    [['user', 'list', '-o', ''], 'json\t'],
  ])('completes %j', async (typed, expected) => {
    expect(await written('complete', '--', ...typed)).toContain(expected);
  });
});

describe('tessera --help', () => {
  it('tells the exit codes on standard output', async () => {
    const { terminal, printed } = world([]);
    expect(await run(['--help'], terminal)).toBe(0);
    expect(printed).toEqual({
      out: expect.stringContaining('Exit codes: 0 done; 1 failed') as string,
      say: '',
    });
  });
});
