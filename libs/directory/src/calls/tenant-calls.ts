import { Code, ConnectError, type Handlers } from '@tessera/rpc';
import { TenantSchema, type Tenant, type TenantsService } from '@tessera/proto-gen/admin-tenants';
import { z } from 'zod';
import { desiredOf, entryOf, shapeOf, valuesOf } from '../fields/field.ts';
import { recordCalls, type RecordCallsDeps } from '../records/record-calls.ts';
import type { Outcome } from '../records/change-requests.ts';
import { recordForm } from '../records/record-form.ts';
import { tenantFields, tenantId, type TenantRecord } from '../tenants/fields.ts';
import { isEmpty } from '../tenants/read.postgres.ts';

const declaredTenant = z.strictObject({ tenantId: tenantId.schema, ...shapeOf(tenantFields) });
const form = recordForm(TenantSchema, 'tenant', Object.keys(declaredTenant.shape));

/**
 * The calls that read and change one tenant, without what is in it.
 * @param sharedIssuer no tenant may have it; undefined if it is taken from the host of each request
 */
export function tenantCalls(
  deps: RecordCallsDeps & { readonly sharedIssuer: string | undefined },
): Handlers<typeof TenantsService> {
  const calls = recordCalls(
    {
      kind: 'tenant',
      form,
      status: tenantFields.status.schema,
      entryOf: (record) => ({ tenantId: record.tenantId, ...entryOf(tenantFields, record) }),
      messageOf: messageOfTenant,
      async desired(entry, owner, present) {
        const { tenantId: id, ...declared } = form.parse(declaredTenant, entry);
        if (declared.issuer !== '' && declared.issuer === deps.sharedIssuer)
          form.check((report) => report(['issuer'], 'is the shared issuer'));
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
    async delete({ tenantId: id, ...request }, context) {
      await calls.delete(
        {
          ...request,
          tenantId: id,
          id,
          async allow(_, { tx }) {
            if (await isEmpty(tx, id)) return;
            throw new ConnectError('The tenant has records. Delete them first.', Code.FailedPrecondition);
          },
        },
        context,
      );
      return {};
    },
  };
}

export function messageOfTenant(outcome: Outcome<TenantRecord>) {
  const { tenantId: id } = outcome.record;
  return form.messageOf({ tenantId: id, ...valuesOf(tenantFields, outcome.record) }, outcome);
}

/** A page of a thousand tenants would be too large for a message. */
function withoutLogo(tenant: Tenant): Tenant {
  return tenant.looks === undefined ? tenant : { ...tenant, looks: { ...tenant.looks, logo: '' } };
}
