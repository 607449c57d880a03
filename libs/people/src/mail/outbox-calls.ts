import { eventBase } from '@tessera/audit';
import type { MailService } from '@tessera/proto-gen/admin-mail';
import {
  Code,
  ConnectError,
  invalidFields,
  pageOf,
  pageRequest,
  pageToken,
  timestampFromMs,
  type Handlers,
} from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { insertAuditRows, notFound, type AuditRuntime } from '@tessera/directory/ground';
import { warnings } from './outbox.ts';
import { deleteMail, listMail, lockMail, type MailScope, type WaitingMail } from './waiting-mail.postgres.ts';

/** The calls of administrators about mail that waits. None says where a mail goes, or what is in it. */
export function outboxCalls({
  database,
  ...runtime
}: AuditRuntime & { readonly database: Database }): Handlers<typeof MailService> {
  return {
    async list({ tenantId, userId, state, ...asked }) {
      const search = JSON.stringify([userId, state]);
      const { after, size } = pageRequest({ ...asked, search });
      // Neither has a space.
      const [user = '', mailId = ''] = after.split(' ');
      const scope = { tenantId, userId: userId === '' ? undefined : userId, state: stateOf(state) };
      const found = await listMail(database, scope, { userId: user, mailId }, size + 1);
      const { page, last } = pageOf(found, { size });
      return {
        mail: page.map(messageOf),
        nextPageToken: pageToken(last && `${last.userId} ${last.mailId}`, { search }),
      };
    },

    async delete({ tenantId, mailId }, context) {
      await database.transaction(async (tx) => {
        const mail = await lockMail(tx, { tenantId, mailId });
        if (mail === undefined) throw notFound('The mail');
        const { userId, kind, attempts } = mail;
        if (warnings.includes(kind))
          throw new ConnectError(
            'This mail warns a person of what happened to their account. It is sent, or expires.',
            Code.FailedPrecondition,
          );
        if (mail.isBeingSent)
          throw new ConnectError('The mail is being sent. Look again in two minutes.', Code.Aborted);
        await deleteMail(tx, mailId);
        const event = { ...eventBase(context), event: 'mail.deleted', outcome: 'success' } as const;
        const details = { kind, attempts: String(attempts) };
        const row = { ...event, tenantId, ...(userId !== '' && { subject: userId }), details };
        await insertAuditRows(tx, [row], runtime);
      });
      return {};
    },
  };
}

/** Throws InvalidArgument. The administration API has checked it; others may call without it. */
function stateOf(state: string): MailScope['state'] {
  if (state === '' || state === 'waiting' || state === 'failed') return state;
  throw invalidFields([{ field: 'state', description: 'must be waiting, failed or empty' }]);
}

function messageOf({ createdAt, dueAt, expiresAt, ...mail }: WaitingMail) {
  return {
    ...mail,
    state: mail.lastError === '' ? 'waiting' : 'failed',
    createTime: timestampFromMs(createdAt),
    nextAttemptTime: timestampFromMs(dueAt),
    expireTime: timestampFromMs(expiresAt),
  };
}
