import { toJson, type JsonObject } from '@bufbuild/protobuf';
import { ApprovalSchema, ApprovalsService } from '@tessera/proto-gen/admin-approvals';
import { orNotFound, withAdministration } from '../operate/records/with-service.ts';
import type { Format, PersonOptions } from '../options.ts';
import { printed } from '../print-records.ts';
import type { Terminal } from '../terminal.ts';
import { requiredPerson } from '../people/person-options.ts';

export interface ListOptions extends PersonOptions {
  readonly output: Format;
}

export interface ApprovalId {
  readonly tenant: string;
  readonly approvalId: string;
}

const timeoutMs = 10_000;
const columns = ['approvalId', 'clientId', 'scopes', 'bindingMessage', 'ipAddress', 'expireTime'];

/** Throws CommandError. */
export async function listApprovals(options: ListOptions, terminal: Terminal): Promise<void> {
  const { approvals } = await withAdministration(terminal, {
    name: 'Reading',
    changes: false,
    timeoutMs,
    async run(clientOf, call) {
      const userId = await requiredPerson(options, { clientOf, call });
      return clientOf(ApprovalsService).list({ tenantId: options.tenant, userId }, call);
    },
  });
  const records = approvals.map((each) => toJson(ApprovalSchema, each) as JsonObject);
  terminal.out(await printed(records, options.output, columns));
}

/** Throws CommandError. */
export async function denyApproval(
  { tenant: tenantId, approvalId }: ApprovalId,
  terminal: Terminal,
): Promise<void> {
  await withAdministration(terminal, {
    name: 'Denying the request',
    changes: true,
    timeoutMs,
    run: async (clientOf, call) =>
      clientOf(ApprovalsService)
        .cancel({ tenantId, approvalId }, call)
        .catch(orNotFound(`No request ${approvalId} waits for a decision in the tenant ${tenantId}.`)),
  });
  terminal.say('The request is denied.\n');
}
