import type { KeyObject } from 'node:crypto';
import { eventBase } from '@tessera/audit';
import { Code, ConnectError, invalidFields, type CallContext } from '@tessera/rpc';
import { administrationOf, AdministrationNotAllowedError } from '../apply/administration-guard.ts';
import type { ApplyDeps, DeclaredDocument } from '../apply/applicable.ts';
import { DeletionsNotAllowedError } from '../apply/deletion-guard.ts';
import { namesakesOf } from '../apply/namesakes.ts';
import { OwnerConflictError } from '../apply/owner-conflicts.ts';
import { differencesOf } from '../apply/plan-differences.ts';
import { DeclaredConflictError } from '../declared/declared-state-error.ts';
import { impactOf } from '../plans/impact.ts';
import { withoutWayIn } from '../plans/without-way-in.ts';
import { ownerOf } from '../records/writers.ts';
import type { PepperCheck } from '../secrets/pepper-check.ts';
import { normalizeIdentifier } from '../users/identifiers.ts';
import { etagOf, requireKinds } from './described-plan.ts';

export interface DocumentDeps extends ApplyDeps {
  /** For digests of plans. */
  readonly pepper: KeyObject;
  readonly pepperCheck: PepperCheck;
}

/** A document in a request. */
interface AskedDocument {
  /** Absent: it may declare any tenants. */
  readonly tenantId?: string;
  readonly document: string;
  readonly fileName: string;
  readonly owner: string;
  readonly takeOver: boolean;
  /** Kinds of which what it leaves out stays. */
  readonly keptKinds?: readonly string[];
  /** User names of people who do not stay nevertheless. */
  readonly deletedUsers?: readonly string[];
}

interface Application extends AskedDocument {
  readonly allowDelete: boolean;
  readonly allowAdministration: boolean;
  /** Of what it must change; empty: whatever it changes. */
  readonly etag?: string;
}

interface Comparison extends AskedDocument {
  readonly deletionsOnly: boolean;
  readonly impact: boolean;
}

/**
 * Loaded with the first document, because the reader of YAML with it is large and most processes are never sent one.
 */
export const applying = async () => import('../apply/apply.ts');

/**
 * What is answered to a document, by tenant in the order of the document, whichever service is asked. Throws
 * DeclaredStateError for mistakes in it, ConnectError for a request that breaks a rule, for conflicts, and for what the
 * caller has to allow.
 */
export function declaredDocuments(deps: DocumentDeps) {
  return {
    async apply(
      { allowDelete, allowAdministration, etag = '', ...asked }: Application,
      context: CallContext,
    ) {
      await deps.pepperCheck.require();
      const { applyDeclaredState } = await applying();
      const applied = await applyDeclaredState(deps, documentOf(asked), {
        base: eventBase(context),
        signal: context.signal,
        allowDelete,
        allowAdministration,
        judge(planned) {
          if (etag === '' || etag === etagOf(planned, deps.pepper)) return;
          throw new ConnectError(
            'It would change something else than was compared. Compare again.',
            Code.Aborted,
          );
        },
      }).catch(refuseConflict);
      return applied.map((tenant) => ({
        ...tenant,
        newPeople: [...tenant.newPeople],
        unchanged: tenant.created + tenant.updated + tenant.deleted === 0,
      }));
    },

    async diff({ deletionsOnly, impact, ...asked }: Comparison, { signal }: Pick<CallContext, 'signal'>) {
      await deps.pepperCheck.look();
      const { planDeclaredState } = await applying();
      const plans = await planDeclaredState(deps, documentOf(asked), {
        signal,
        withoutPasswords: deletionsOnly,
      }).catch(refuseConflict);
      const tenants = plans.map(async (planned) => {
        const { plan } = planned;
        return {
          tenantId: plan.desired.tenant.tenantId,
          differences: deletionsOnly
            ? differencesOf(plan).filter(({ change }) => change === 'deleted')
            : differencesOf(plan, await namesakesOf(deps.database, plan)),
          withoutWayIn: withoutWayIn(plan).map(({ username }) => username),
          administration: administrationOf(plan),
          ...(impact && !deletionsOnly && { impact: impactOf(plan) }),
          etag: deletionsOnly ? '' : etagOf(planned, deps.pepper),
        };
      });
      return Promise.all(tenants);
    },
  };
}

/** Throws InvalidArgument for what is no owner or no kind, and for deletions of people that the document decides. */
export function documentOf({
  tenantId,
  document,
  fileName,
  owner,
  takeOver,
  keptKinds = [],
  deletedUsers = [],
}: AskedDocument): DeclaredDocument {
  const part = {
    keptKinds: requireKinds(keptKinds, 'keptKinds'),
    deletedUsers: new Set(deletedUsers.map(normalizeIdentifier)),
  };
  if (part.deletedUsers.size > 0 && !part.keptKinds.has('user'))
    throw invalidFields([{ field: 'deletedUsers', description: 'needs user among keptKinds' }]);
  return {
    text: document,
    fileName: fileName === '' ? 'document' : fileName,
    tenantId,
    owner: ownerOf(owner),
    takeOver,
    part,
  };
}

/** What a caller can mend by an option, or with those who have the other records. */
const conflicts = [
  DeletionsNotAllowedError,
  AdministrationNotAllowedError,
  OwnerConflictError,
  DeclaredConflictError,
];

/** Conflicts, and what has to be allowed, are returned to the caller. */
export function refuseConflict(error: unknown): never {
  if (error instanceof Error && conflicts.some((kind) => error instanceof kind))
    throw new ConnectError(error.message, Code.FailedPrecondition);
  throw error;
}
