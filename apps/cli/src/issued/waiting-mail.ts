import { toJson, type JsonObject } from '@bufbuild/protobuf';
import { MailSchema, MailService, type Mail } from '@tessera/proto-gen/admin-mail';
import { readPages, timestampMs } from '@tessera/rpc/caller';
import { orNotFound, withService } from '../operate/records/with-service.ts';
import type { Format, PersonOptions } from '../options.ts';
import { personOf } from '../people/person-options.ts';
import { printed } from '../print-records.ts';
import type { Terminal } from '../terminal.ts';

export interface ListOptions extends PersonOptions {
  readonly state: string;
  readonly limit: number;
  readonly output: Format;
}

export interface MailId {
  readonly tenant: string;
  readonly mailId: string;
}

const timeoutMs = 30_000;
const columns = ['mailId', 'username', 'kind', 'state', 'createTime', 'attempts', 'lastError'];

/** The oldest first. Throws CommandError. */
export async function listMail(options: ListOptions, terminal: Terminal): Promise<void> {
  const { tenant: tenantId, state, limit, output } = options;
  const mail = await withService('directory', terminal, {
    name: 'Reading',
    changes: false,
    timeoutMs,
    async run(clientOf, call) {
      const userId = await personOf(options, { clientOf, call });
      const { found } = await readPages(async (page) => {
        const answer = await clientOf(MailService).list({ tenantId, userId, state, ...page }, call);
        return { found: answer.mail, nextPageToken: answer.nextPageToken };
      }, limit);
      return found;
    },
  });
  const records = mail
    .toSorted((one, other) => createdAt(one) - createdAt(other))
    .map((each) => toJson(MailSchema, each) as JsonObject);
  terminal.out(await printed(records, output, columns));
}

function createdAt({ createTime }: Mail): number {
  return createTime === undefined ? 0 : timestampMs(createTime);
}

/** Throws CommandError. */
export async function deleteMail({ tenant: tenantId, mailId }: MailId, terminal: Terminal): Promise<void> {
  await withService('directory', terminal, {
    name: 'Deleting the mail',
    changes: true,
    timeoutMs,
    run: async (clientOf, call) =>
      clientOf(MailService)
        .delete({ tenantId, mailId }, call)
        .catch(orNotFound(`No mail ${mailId} waits in the tenant ${tenantId}.`)),
  });
  terminal.say('The mail is deleted and will not be sent.\n');
}
