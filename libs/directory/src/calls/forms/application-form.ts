import { ApplicationSchema } from '@tessera/proto-gen/admin-applications';
import { desiredOf, valuesOf } from '../../fields/field.ts';
import type { Outcome } from '../../records/change-requests.ts';
import { recordForm, type Entry } from '../../records/record-form.ts';
import { jwtAudienceAsClientId, jwtAudiencesOf } from '../../resources/checks.ts';
import { readResources } from '../../resources/read.postgres.ts';
import { readRoles } from '../../roles/read.postgres.ts';
import type { RecordTransaction } from '../../store/store.ts';
import { isUserId } from '../../users/claims/given-user-id.ts';
import { lockSubject } from '../../users/subjects.postgres.ts';
import { checkApplication } from '../../applications/checks.ts';
import {
  applicationFields,
  applicationWithoutSecrets,
  type ApplicationRecord,
} from '../../applications/fields.ts';

/** An application that is there has a client ID that nobody was given. */
const nobody = { ofPeople: new Set<string>() };

/** How applications stand in messages. */
export const applicationForm = recordForm(ApplicationSchema, 'application', Object.keys(applicationFields));

/** The application that an entry asks for, with the secrets that it has. Throws InvalidArgument for broken rules. */
export async function applicationOf(
  entry: Entry,
  owner: string,
  present: ApplicationRecord | undefined,
  around: RecordTransaction,
): Promise<ApplicationRecord> {
  const declared = applicationForm.parse(applicationWithoutSecrets, entry);
  const { ofPeople } = present ? nobody : await lockSubject(around.tx, around.tenantId, declared.clientId);
  const resources = await readResources(around.tx, around.tenantId);
  const roles = (await readRoles(around.tx, around.tenantId)).map(({ name }) => name);
  const secrets = present?.secrets ?? [];
  applicationForm.check((report) => {
    const { endpoints = '' } = around.tenant ?? {};
    checkApplication(declared, { endpoints, resources, roles }, report);
    if (jwtAudiencesOf({ resources }).includes(declared.clientId))
      report(['clientId'], jwtAudienceAsClientId);
    if (ofPeople.has(declared.clientId)) report(['clientId'], isUserId);
    if (declared.type === 'public' && secrets.length > 0)
      report(['type'], 'a public application has no secret');
  });
  return { ...desiredOf(applicationFields, declared, present), owner, secrets };
}

/** Never with the digests of secrets. */
export function messageOfApplication(outcome: Outcome<ApplicationRecord>) {
  return applicationForm.messageOf(valuesOf(applicationFields, outcome.record), outcome);
}
