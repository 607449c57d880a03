import { Code, ConnectError, type Handlers } from '@tessera/rpc';
import { TenantSchema, type Tenant, type TenantsService } from '@tessera/proto-gen/admin-tenants';
import { z } from 'zod';
import { desiredOf, entryOf, shapeOf, valuesOf } from '../fields/field.ts';
import { recordCalls, type RecordCallsDeps } from '../records/record-calls.ts';
import type { Outcome } from '../records/change-requests.ts';
import { recordForm } from '../records/record-form.ts';
import { tenantFields, tenantId, type TenantRecord } from '../tenants/fields.ts';
import { isEmpty } from '../store/tenant-contents.postgres.ts';
import { writerOf } from '../records/writers.ts';
import { keepsOwnIssuer } from '../users/claims/given-user-id.ts';
import { hasGivenUserIds } from '../users/subjects.postgres.ts';

const declaredTenant = z.strictObject({ tenantId: tenantId.schema, ...shapeOf(tenantFields) });
const form = recordForm(TenantSchema, 'tenant', Object.keys(declaredTenant.shape));

interface TenantCallsDeps extends RecordCallsDeps {
  /** No tenant may have it; undefined if it is taken from the host of each request. */
  readonly sharedIssuer: string | undefined;
  /** Undefined if nobody may administer every tenant. */
  readonly operatorTenant: string | undefined;
}

/** The calls that read and change one tenant; of what is in it, a deletion alone. */
export function tenantCalls(deps: TenantCallsDeps): Handlers<typeof TenantsService> {
  const calls = recordCalls(
    {
      kind: 'tenant',
      form,
      status: tenantFields.status.schema,
      entryOf: (record) => ({ tenantId: record.tenantId, ...entryOf(tenantFields, record) }),
      messageOf: messageOfTenant,
      async desired(entry, owner, present, { tx }) {
        const { tenantId: id, ...declared } = form.parse(declaredTenant, entry);
        if (declared.issuer !== '' && declared.issuer === deps.sharedIssuer)
          form.check((report) => report(['issuer'], 'is the shared issuer'));
        const isGivenUp = declared.issuer === '' && present !== undefined && present.issuer !== '';
        if (isGivenUp && (await hasGivenUserIds(tx, id)))
          form.check((report) => report(['issuer'], keepsOwnIssuer));
        return { tenantId: id, owner, ...desiredOf(tenantFields, declared, present) };
      },
    },
    deps,
  );
  return {
    get: async ({ tenantId: id }) => calls.get(id, id),
    async list(page) {
      const { found: tenants, nextPageToken } = await calls.list('', page);
      return { tenants: tenants.map(withoutLogo), nextPageToken };
    },
    create: async ({ tenantId: id, tenant, ...request }, context) =>
      calls.create(tenant && { ...tenant, tenantId: id }, { ...request, tenantId: id, id }, context),
    update: async ({ tenantId: id, tenant, ...request }, context) =>
      calls.update(
        tenant && { ...tenant, tenantId: id },
        { ...request, tenantId: id, id, etag: tenant?.etag ?? '' },
        context,
      ),
    async delete({ tenantId: id, force, ...request }, context) {
      if (force) {
        if (id === deps.operatorTenant) throw operatorTenantStays();
        const { owner, ...asked } = { ...request, tenantId: id };
        const contents = await deps.records.deleteContents({ ...asked, writer: writerOf(owner) }, context);
        if (contents !== undefined) return { contents, more: !request.validateOnly };
      }
      await calls.delete(
        {
          ...request,
          tenantId: id,
          id,
          async allow(_, { tx }) {
            if (await isEmpty(tx, id)) return;
            throw new ConnectError(
              `The tenant has records. Delete them first, or with it: \`force\`, or --everything-in ${id}.`,
              Code.FailedPrecondition,
            );
          },
        },
        context,
      );
      return {};
    },
  };
}

/** Who deletes it would lose the right to, half-way. */
function operatorTenantStays(): ConnectError {
  return new ConnectError(
    'The operator tenant is not deleted with what is in it. Name another one as the operator tenant first.',
    Code.FailedPrecondition,
  );
}

export function messageOfTenant(outcome: Outcome<TenantRecord>) {
  const { tenantId: id } = outcome.record;
  return form.messageOf({ tenantId: id, ...valuesOf(tenantFields, outcome.record) }, outcome);
}

/** A page of a thousand tenants would be too large for a message. */
function withoutLogo(tenant: Tenant): Tenant {
  return tenant.looks === undefined ? tenant : { ...tenant, looks: { ...tenant.looks, logo: '' } };
}
