import { isIP } from 'node:net';
import type { Secret } from '@tessera/kit';
import type { Sent } from '@tessera/outbound';

/** A mail as it is sent. */
export interface Letter {
  /** Stable over attempts, so that a mail that was sent twice is recognized as one. */
  readonly messageId: string;
  readonly from: { readonly name: string; readonly address: string };
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Where mail goes. */
export interface MailTransport {
  /** `refused`: the server does not take mail for this address, and never will. */
  send(letter: Letter): Promise<Sent>;
  close(): void;
}

export interface SmtpOptions {
  /** `smtp://` or `smtps://`, with user name and password, if any. */
  readonly url: Secret;
  /** Whether the server must be asked over TLS. */
  readonly requireTls: boolean;
  /** PEM of the authority of its certificate; undefined: those of the system. */
  readonly ca: string | undefined;
}

/** Connections of one process to the server. */
const connections = 4;
const connectMs = 5_000;
const silenceMs = 10_000;

/** Sends mail to an SMTP server (RFC 5321), over TLS (RFC 3207, RFC 8314). */
export function createSmtpTransport({ url, requireTls, ca }: SmtpOptions): MailTransport {
  const server = new URL(url.reveal());
  const secure = server.protocol === 'smtps:';
  const host = server.hostname.replace(/^\[(.*)\]$/, '$1');
  const open = async () => {
    const { createTransport } = await import('nodemailer');
    return createTransport({
      pool: true,
      maxConnections: connections,
      host,
      port: server.port === '' ? (secure ? 465 : 587) : Number(server.port),
      secure,
      requireTLS: requireTls && !secure,
      tls: { ...(ca !== undefined && { ca }), ...(isIP(host) === 0 && { servername: host }) },
      ...(server.username !== '' && {
        auth: { user: decodeURIComponent(server.username), pass: decodeURIComponent(server.password) },
      }),
      connectionTimeout: connectMs,
      greetingTimeout: connectMs,
      socketTimeout: silenceMs,
      logger: false,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  };
  /** Opened with the first letter, since most servers send none for long. */
  let transport: ReturnType<typeof open> | undefined;
  return {
    async send({ from, to, ...letter }) {
      try {
        transport ??= open();
        await (
          await transport
        ).sendMail({
          ...letter,
          from: { name: from.name, address: from.address },
          to: { name: '', address: to },
          envelope: { from: from.address, to: [to] },
          // RFC 3834: nobody's absence is announced to it.
          headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
        });
        return { outcome: 'delivered' };
      } catch (error) {
        return sentOf(error);
      }
    },
    close: () => void transport?.then((opened) => opened.close()),
  };
}

/**
 * Only what the server says of the recipient or of the mail is final (RFC 5321 §4.2.1); of a wrong password or sender
 * an operator hears, and the mail waits. Never the text of the server, which quotes addresses.
 */
function sentOf(error: unknown): Sent {
  const {
    code = '',
    command = '',
    responseCode = 0,
  } = error as {
    readonly code?: string;
    readonly command?: string;
    readonly responseCode?: number;
  };
  const isFinal = responseCode >= 500 && responseCode < 600 && /^(RCPT TO|DATA)$/.test(command);
  // An address that cannot be written into a command.
  const isUnwritable = code === 'EENVELOPE' && responseCode === 0;
  const reason = responseCode > 0 ? `smtp_${responseCode}` : (code || 'unknown').toLowerCase();
  return { outcome: isFinal || isUnwritable ? 'refused' : 'failed', reason };
}
