import { Code, ConnectError } from '@tessera/rpc';
import type { Report } from '../fields/field-checks.ts';
import { readRoles } from '../roles/read.postgres.ts';
import { havingAudience, usersOf } from '../store/references.postgres.ts';
import type { RecordTransaction } from '../store/store.ts';
import {
  audienceOfOthers,
  checkResources,
  jwtAudienceAsClientId,
  otherSpelling,
  spelledTwice,
} from '../resources/checks.ts';
import type { ResourceRecord } from '../resources/fields.ts';
import { readResources } from '../resources/read.postgres.ts';
import type { Refusals } from './standard-calls.ts';

/** An API resource keeps the rules of its tenant, and what applications use of it. */
export const resourceRefusals: Refusals<'resource'> = {
  async change({ before, after }, around, form) {
    const others = (await readResources(around.tx, around.tenantId)).filter(
      ({ audience }) => audience !== after.audience,
    );
    const isClientId =
      after.tokenType === 'JWT' && (await around.find('application', after.audience)) !== undefined;
    const roles = (await readRoles(around.tx, around.tenantId)).map(({ name }) => name);
    const audiences = others.map(({ audience }) => audience);
    form.check((report) => {
      const here: Report = ([, , ...path], message) => report(path, message);
      checkResources({ resources: [after] }, here, { others, roles });
      if (isClientId) report(['audience'], jwtAudienceAsClientId);
      const created = before === undefined ? [after.audience] : [];
      if (spelledTwice(created, audiences).length > 0) report(['audience'], otherSpelling);
    });
    await refuseUsed(before, after, around);
    await refuseUnlimited(after, around);
    if (before === undefined) await refuseOfOthers(after, around);
  },
  deletion: async (present, around) => refuseUsed(present, undefined, around),
};

/**
 * Throws FailedPrecondition if it limits roles and applications have its audience without one of its scopes, by which
 * their tokens would be limited.
 */
async function refuseUnlimited(
  { audience, roles, scopes }: ResourceRecord,
  { tx, tenantId }: RecordTransaction,
): Promise<void> {
  if (roles.length === 0) return;
  const entries = entriesOf(audience);
  const users = await havingAudience(tx, { tenantId, entries, besides: scopes.map(({ name }) => name) });
  const named = users.slice(0, 20).map(({ clientId }) => `application ${clientId}`);
  if (users.length > 0)
    throw new ConnectError(
      `Its roles would not limit the tokens of ${named.join(', ')}, which have its audience without a scope of it.`,
      Code.FailedPrecondition,
    );
}

/** Throws FailedPrecondition if applications of other owners have the audience of a new resource. */
async function refuseOfOthers(after: ResourceRecord, { tx, tenantId }: RecordTransaction): Promise<void> {
  const { audience } = after;
  const having = await havingAudience(tx, { tenantId, entries: entriesOf(audience), besides: [] });
  const message = audienceOfOthers(after, having);
  if (message !== undefined) throw new ConnectError(`${audience} ${message}.`, Code.FailedPrecondition);
}

/** What the `audiences` of an application have of one. */
function entriesOf(audience: string): string[] {
  return [audience, `${audience}:*`];
}

/**
 * Throws FailedPrecondition if applications refer to what the resource loses: the name of a scope may also be one of
 * the administration, which they would hold from then on.
 */
async function refuseUsed(
  before: ResourceRecord | undefined,
  after: ResourceRecord | undefined,
  around: RecordTransaction,
): Promise<void> {
  if (before === undefined) return;
  const kept = new Set(after?.scopes.map(({ name }) => name));
  const scopes = before.scopes.map(({ name }) => name).filter((name) => !kept.has(name));
  const audiences = after === undefined ? [before.audience] : [];
  const users =
    scopes.length + audiences.length === 0
      ? []
      : await usersOf(around.tx, around.tenantId, { scopes, audiences });
  if (users.length > 0)
    throw new ConnectError(
      `The resource or a scope that it would lose is used by ${users.join(', ')}.`,
      Code.FailedPrecondition,
    );
}
