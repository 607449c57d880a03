import type { KeyObject } from 'node:crypto';
import { Code, ConnectError, invalidFields } from '@tessera/rpc';
import { AdministrationNotAllowedError } from '../apply/guards/administration-guard.ts';
import type { ApplyDeps, DeclaredDocument } from '../apply/applicable.ts';
import { DeletionsNotAllowedError } from '../apply/guards/deletion-guard.ts';
import { OwnerConflictError } from '../apply/guards/owner-conflicts.ts';
import { DeclaredConflictError } from '../declared/declared-state-error.ts';
import { ownerOf } from '../records/writers.ts';
import type { PepperCheck } from '../secrets/pepper-check.ts';
import { normalizeIdentifier } from '../users/identifiers.ts';
import { requireKinds } from './described-plan.ts';

export interface DocumentDeps extends ApplyDeps {
  /** For digests of plans. */
  readonly pepper: KeyObject;
  readonly pepperCheck: PepperCheck;
}

/** A document in a request. */
interface AskedDocument {
  readonly tenantId: string;
  readonly document: string;
  readonly fileName: string;
  readonly owner: string;
  readonly takeOver: boolean;
  /** Kinds of which what it leaves out stays. */
  readonly keptKinds: readonly string[];
  /** User names of people who do not stay nevertheless. */
  readonly deletedUsers: readonly string[];
  readonly otherTenants?: readonly string[] | undefined;
}

/**
 * Loaded with the first document, because the reader of YAML with it is large and most processes are never sent one.
 */
export const applying = async () => import('../apply/apply.ts');

/** Throws InvalidArgument for what is no owner or no kind, and for deletions of people that the document decides. */
export function documentOf({
  tenantId,
  document,
  fileName,
  owner,
  takeOver,
  keptKinds,
  deletedUsers,
  otherTenants,
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
    otherTenants,
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
