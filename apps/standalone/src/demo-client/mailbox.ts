import type { FastifyInstance, FastifyReply } from 'fastify';
import type { MailTransport } from '@tessera/people';

/** The mail of the demo, which leaves this process for a page of it alone. */
export interface Mailbox {
  readonly transport: MailTransport;
  /** Adds `/demo/mailbox`. */
  pages(
    page: (reply: FastifyReply, template: string, data: object) => Promise<FastifyReply>,
  ): (app: FastifyInstance) => void;
}

interface Kept {
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  readonly link: string | undefined;
}

const mostKept = 50;

/** Keeps the latest mails in memory. A mail that is sent again takes the place of the first. */
export function createMailbox(): Mailbox {
  const kept = new Map<string, Kept>();
  return {
    transport: {
      async send({ messageId, to, subject, text }) {
        kept.delete(messageId);
        const [oldest] = kept.keys();
        if (kept.size >= mostKept && oldest !== undefined) kept.delete(oldest);
        const link = /https?:\/\/\S+/.exec(text)?.[0];
        const paragraphs = text
          .trim()
          .split('\n\n')
          .filter((paragraph) => !paragraph.endsWith(link ?? '\n'));
        kept.set(messageId, { to, subject, paragraphs, link });
        return { outcome: 'delivered' };
      },
      close: () => kept.clear(),
    },
    pages: (page) => (app) => {
      app.get('/demo/mailbox', async (_request, reply) =>
        page(reply, './demo-mailbox', { mails: [...kept.values()].toReversed() }),
      );
    },
  };
}
