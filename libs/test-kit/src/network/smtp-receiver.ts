import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { eventually } from '../eventually.ts';

/** A mail as an SMTP server got it. */
export interface ReceivedMail {
  readonly sender: string;
  readonly recipients: readonly string[];
  /** By their names in lower case, decoded (RFC 2047). */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly html: string;
  /** The first address in the text. */
  readonly link: string;
}

/** How a server refuses something: the status, by where it does so. */
export interface SmtpRefusals {
  readonly connection?: number;
  readonly recipient?: number;
  readonly content?: number;
}

/** A real SMTP server on the loopback interface. */
export interface SmtpReceiver {
  readonly port: number;
  readonly received: ReceivedMail[];
  /** Refuses from now on; without an argument nothing any more. */
  refuse(refusals?: SmtpRefusals): void;
  /** Called when a mail was read, before the server says that it took it. */
  beforeAnswer(work: () => Promise<void> | void): void;
  /** Resolves with the mails once there are `count`. */
  gotAll(count: number): Promise<readonly ReceivedMail[]>;
  close(): Promise<void>;
}

/**
 * With a `certificate` the server offers STARTTLS, or speaks TLS at once if it is `secure`; with `user` it asks for a
 * password.
 */
export async function startSmtpReceiver({
  port = 0,
  certificate,
  secure = false,
  user,
}: {
  readonly port?: number;
  readonly certificate?: { readonly cert: string; readonly key: string };
  readonly secure?: boolean;
  readonly user?: { readonly name: string; readonly password: string };
} = {}): Promise<SmtpReceiver> {
  const received: ReceivedMail[] = [];
  let refusals: SmtpRefusals = {};
  let before: () => Promise<void> | void = () => undefined;
  const refusal = (status: number | undefined) =>
    status === undefined ? undefined : Object.assign(new Error('Refused'), { responseCode: status });
  const server = new SMTPServer({
    ...certificate,
    secure,
    logger: false,
    closeTimeout: 100,
    authOptional: user === undefined,
    disabledCommands: [
      ...(certificate === undefined ? ['STARTTLS'] : []),
      ...(user === undefined ? ['AUTH'] : []),
    ],
    onConnect: (_session, done) => done(refusal(refusals.connection)),
    onAuth: ({ username, password }, _session, done) =>
      username === user?.name && password === user?.password
        ? done(null, { user: username })
        : done(Object.assign(new Error('Wrong'), { responseCode: 535 })),
    onRcptTo: (_address, _session, done) => done(refusal(refusals.recipient)),
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
      stream.on('end', () => {
        const refused = refusal(refusals.content);
        if (refused !== undefined) return done(refused);
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          ...parsed(Buffer.concat(chunks).toString('latin1')),
          sender: mailFrom === false ? '' : mailFrom.address,
          recipients: rcptTo.map(({ address }) => address),
        });
        void Promise.resolve(before()).then(() => done());
      });
    },
  });
  // A client that goes away is no failure of the test.
  server.on('error', () => undefined);
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    refuse: (next = {}) => void (refusals = next),
    beforeAnswer: (work) => void (before = work),
    async gotAll(count) {
      await eventually(`${count} mails have come`, () => received.length >= count);
      return received;
    },
    close: () => new Promise((closed) => server.close(() => closed())),
  };
}

type Content = Pick<ReceivedMail, 'headers' | 'text' | 'html' | 'link'>;

/** Reads what we send (RFC 5322, RFC 2045): text and HTML in one multipart/alternative. */
function parsed(raw: string): Content {
  const { headers, body } = part(raw);
  const boundary = /boundary="?([^";]+)/.exec(headers['content-type'] ?? '')?.[1];
  const parts =
    boundary === undefined ? [] : body.split(`--${boundary}`).map((each) => part(each.trimStart()));
  const contentOf = (type: string) => {
    const found = parts.find((each) => each.headers['content-type']?.startsWith(type) === true);
    return found === undefined ? '' : decodedBody(found);
  };
  const text = contentOf('text/plain');
  return { headers, text, html: contentOf('text/html'), link: /https?:\/\/\S+/.exec(text)?.[0] ?? '' };
}

function part(raw: string): { readonly headers: Record<string, string>; readonly body: string } {
  const end = raw.indexOf('\r\n\r\n');
  const lines = raw
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), decodedWords(line.slice(colon + 1).trim())] as const;
  });
  return { headers: Object.fromEntries(headers), body: raw.slice(end + 4) };
}

function decodedBody({ headers, body }: ReturnType<typeof part>): string {
  const encoding = headers['content-transfer-encoding'] ?? '';
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8').trimEnd();
  const bytes =
    encoding === 'quoted-printable' ? unquoted(body.replaceAll('=\r\n', '')) : Buffer.from(body, 'latin1');
  return bytes.toString('utf8').replaceAll('\r\n', '\n').trimEnd();
}

/** RFC 2047. */
function decodedWords(text: string): string {
  return text
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_all, kind: string, word: string) =>
      (kind.toLowerCase() === 'b'
        ? Buffer.from(word, 'base64')
        : unquoted(word.replaceAll('_', ' '))
      ).toString('utf8'),
    );
}

function unquoted(text: string): Buffer {
  const decoded = text.replaceAll(/=([0-9A-F]{2})/gi, (_all, hex: string) =>
    String.fromCodePoint(Number.parseInt(hex, 16)),
  );
  return Buffer.from(decoded, 'latin1');
}
