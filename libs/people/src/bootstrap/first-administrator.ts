import { eventBase } from '@tessera/audit';
import { administratorRole, weakestPolicy } from '@tessera/oauth';
import { Code, ConnectError, type CallContext } from '@tessera/rpc';
import { passwordProblem, type Passwords, noteAdministered } from '@tessera/directory/ground';
import {
  changesOf,
  type TenantPlan,
  eventsOf,
  apiOwner,
  planRecord,
  type ChangeRecord,
  type RecordTransaction,
  tenantId as tenantKey,
  type TenantRecord,
  desiredUser,
  user as userSchema,
  type DeclaredUser,
  normalizeIdentifier,
  findUserByIdentifier,
  checkAmongOthers,
  userForm,
  noLooks,
} from '@tessera/directory/records';
import { endLinks } from '../links/password-links.postgres.ts';
import type { CreatedLink, PasswordLinks } from '../links/password-links.ts';

export interface FirstAdministratorDeps {
  readonly changeRecord: ChangeRecord;
  readonly links: Pick<PasswordLinks, 'add'>;
  readonly passwords: Pick<Passwords, 'renewed'>;
  /** In characters. */
  readonly passwordMinLength: number;
  /** Undefined if nobody may administer every tenant. */
  readonly operatorTenant: string | undefined;
  readonly newUserId: () => string;
  /** Called after each commit. */
  readonly onChange: () => void;
}

/** What is known of the person; empty texts are unknown. */
interface Person {
  readonly username: string;
  readonly email: string;
  readonly name: string;
  readonly password: string;
  readonly passwordHash: string;
}

interface FirstAdministrator {
  readonly tenantId: string;
  readonly username: string;
  /** Undefined if the person has a password from the beginning. */
  readonly link: CreatedLink | undefined;
}

/**
 * Makes the first administrator of the operator tenant, with a password that was declared, or with a link that sets
 * one, unless the tenant is administered or has ever been. The lock of the tenant lets one of several callers be the
 * first; a link is looked at again when it is used. Throws ConnectError.
 */
export async function createFirstAdministrator(
  deps: FirstAdministratorDeps,
  person: Person,
  context: CallContext,
): Promise<FirstAdministrator> {
  const tenantId = operatorTenantOf(deps);
  const declared = declaredPerson(person);
  const { password } = declared;
  const problem = password === undefined ? undefined : passwordProblem(password, deps.passwordMinLength);
  if (problem !== undefined) userForm.check((report) => report(['password'], problem));
  // Before the transaction, which must be short.
  const hash =
    password === undefined ? declared.passwordHash : await deps.passwords.renewed(password, tenantId);
  const made = await deps.changeRecord(tenantId, 'alone', async (records) => {
    // Returned, as an error would take back that it is remembered.
    if (await noteAdministered(records.tx, tenantId)) return 'administered';
    const tenant = records.tenant ?? (await newTenant(records, context));
    if (tenant.status !== 'active') throw refused(`The tenant ${tenantId} is not active.`);
    const userId = await personWithRole(deps, { records, tenant, declared, hash }, context);
    await endLinks(records.tx, tenantId, 'bootstrap');
    if (hash !== undefined) {
      await noteAdministered(records.tx, tenantId);
      return undefined;
    }
    return deps.links.add(records.tx, { tenant, userId, purpose: 'bootstrap' }, eventBase(context));
  });
  if (made === 'administered')
    throw refused(
      `The tenant ${tenantId} has had its first administrator. Sign in as an administrator, or have a link made: tessera user reset-link. The operator makes another one: tessera user create --roles ${administratorRole}.`,
    );
  deps.onChange();
  return { tenantId, username: declared.username, link: made };
}

function operatorTenantOf({ operatorTenant = '' }: FirstAdministratorDeps): string {
  if (tenantKey.schema.safeParse(operatorTenant).success) return operatorTenant;
  throw refused(
    operatorTenant === ''
      ? 'No tenant administers the others. Set TESSERA_OPERATOR_TENANT.'
      : `TESSERA_OPERATOR_TENANT is no id of a tenant: ${operatorTenant}.`,
  );
}

function declaredPerson({ username, email, name, password, passwordHash }: Person): DeclaredUser {
  const fields = Object.entries({ email, name, password, passwordHash });
  const given = Object.fromEntries(fields.filter(([, value]) => value !== ''));
  return userForm.parse(userSchema, { username: username || 'admin', roles: [administratorRole], ...given });
}

async function newTenant(records: RecordTransaction, context: CallContext): Promise<TenantRecord> {
  const { tenantId } = records;
  const tenant: TenantRecord = {
    tenantId,
    owner: apiOwner,
    name: 'Operators',
    status: 'active',
    issuer: '',
    endpoints: 'standard',
    authenticationPolicy: weakestPolicy,
    passkeyDomain: 'own',
    registration: 'closed',
    registrationDomains: [],
    accountClosing: false,
    signInMethods: [],
    looks: noLooks,
  };
  await carryOut(records, planRecord(undefined, 'tenant', undefined, tenant), context);
  return tenant;
}

/**
 * The id of the person with the user name, who is made unless there is an administrator of that name who has no
 * password.
 */
async function personWithRole(
  { newUserId }: FirstAdministratorDeps,
  {
    records,
    tenant,
    declared,
    hash,
  }: {
    readonly records: RecordTransaction;
    readonly tenant: TenantRecord;
    readonly declared: DeclaredUser;
    readonly hash: string | undefined;
  },
  context: CallContext,
): Promise<string> {
  const { tx, tenantId } = records;
  const found = await findUserByIdentifier(tx, tenantId, normalizeIdentifier(declared.username));
  const present = found && (await records.find('user', found.user.userId))?.record;
  if (present !== undefined) {
    if (!present.roles.includes(administratorRole))
      throw refused(
        `The user ${declared.username} of the tenant ${tenantId} exists without the role ${administratorRole}. Choose another user name.`,
      );
    if (present.status !== 'active') throw refused(`The user ${declared.username} is not active.`);
    if (hash === undefined) return present.userId;
  }
  const userId = present?.userId ?? newUserId();
  if (present === undefined) await checkAmongOthers(declared, userId, records);
  const after =
    present === undefined
      ? desiredUser(declared, undefined, { owner: apiOwner, passwordHash: hash, newUserId: () => userId })
      : { ...present, passwordHash: hash };
  await carryOut(records, planRecord(tenant, 'user', present, after), context);
  return userId;
}

async function carryOut(records: RecordTransaction, plan: TenantPlan, context: CallContext): Promise<void> {
  await records.carryOut({ plan, changes: changesOf(plan), events: eventsOf(plan, eventBase(context)) });
}

function refused(why: string): ConnectError {
  return new ConnectError(why, Code.FailedPrecondition);
}
