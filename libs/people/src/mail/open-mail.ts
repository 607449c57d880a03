import { repeat } from '@tessera/kit';
import { loadLanguages } from '@tessera/languages';
import type { Runtime } from '@tessera/process';
import { startPurge } from '@tessera/stores';
import { metrics } from '@tessera/telemetry';
import type { DirectoryStore } from '@tessera/directory/records';
import type { PeopleConfig } from '../config.ts';
import { createLetters, type Drafts } from './letters.ts';
import { startMailWorker, type MailPace, type Requests } from './mail-worker.ts';
import type { Outbox } from './outbox.ts';
import { mailBacklog, purgeMail } from './outbox.postgres.ts';
import { createSmtpTransport, type MailTransport } from './smtp.ts';

/** How mail leaves this process. */
export interface MailRoute {
  readonly transport: MailTransport;
  /** Address that mail comes from. */
  readonly from: string;
  /** Shared issuer in the links of mail. */
  readonly issuer: string;
}

/** Mail of a directory that sends any. */
export interface Mail {
  /** Begins to send what waits, with further letters. */
  start(requests: Requests, more: Drafts): void;
  close(): Promise<void>;
}

/** The way of the settings to the SMTP server; undefined if there is none. */
export function smtpRoute(config: PeopleConfig): MailRoute | undefined {
  const { TESSERA_SMTP_URL: url, TESSERA_MAIL_FROM: from, TESSERA_ISSUER: issuer } = config;
  if (url === undefined || from === undefined || issuer === undefined) return undefined;
  const requireTls = config.TESSERA_SMTP_TLS === 'required';
  return { transport: createSmtpTransport({ url, requireTls, ca: config.TESSERA_SMTP_CA }), from, issuer };
}

export function openMail(
  { TESSERA_MESSAGES_DIR: messages }: Pick<PeopleConfig, 'TESSERA_MESSAGES_DIR'>,
  route: MailRoute,
  {
    runtime,
    store,
    outbox,
    pace,
  }: {
    readonly runtime: Runtime;
    readonly store: Pick<DirectoryStore, 'findUser' | 'findTenant' | 'findUserByIdentifier'>;
    readonly outbox: Outbox;
    /** Shorter pauses, for tests. */
    readonly pace?: MailPace | undefined;
  },
): Mail {
  const { database, log } = runtime;
  const languages = loadLanguages(messages);
  const purge = startPurge({ purge: (limit) => purgeMail(database, limit) }, { what: 'mail', log });
  const started: { close(): Promise<void> }[] = [];
  const measuring = measureBacklog(runtime);
  const { transport, from, issuer: sharedIssuer } = route;
  return {
    start: (requests, more) =>
      void started.push(
        startMailWorker({
          outbox,
          letters: createLetters(languages, more),
          requests,
          store,
          transport,
          from,
          sharedIssuer,
          runtime,
          pace,
        }),
      ),
    async close() {
      await Promise.all([measuring, purge, ...started].map((each) => each.close()));
    },
  };
}

/** How often the backlog is counted, as metrics are read at once. */
const countMs = 15_000;

function measureBacklog({ database, log }: Pick<Runtime, 'database' | 'log'>): { close(): Promise<void> } {
  let backlog: Awaited<ReturnType<typeof mailBacklog>> | undefined;
  const counting = repeat(
    async () => {
      backlog = await mailBacklog(database);
    },
    {
      pauseMs: countMs,
      onError(error, failures) {
        backlog = undefined;
        if (failures === 1) log.warn({ err: error }, 'cannot count the mail that waits');
      },
    },
  );
  const gauge = (name: string, help: string, value: (known: NonNullable<typeof backlog>) => number) =>
    metrics.gauge({ name, help }, () => (backlog === undefined ? [] : [{ value: value(backlog) }]));
  const forget = [
    gauge('tessera_mail_waiting', 'Mail that is not sent yet, at most 10000.', ({ count }) => count),
    gauge(
      'tessera_mail_oldest_seconds',
      'Since the oldest mail that is not sent yet was kept; 0 without any.',
      ({ oldestSeconds }) => oldestSeconds,
    ),
  ];
  return {
    async close() {
      forget.forEach((each) => each());
      await counting.close();
    },
  };
}
