import { readFile } from 'node:fs/promises';
import { isBuiltIn } from '@tessera/oauth';
import {
  ConnectError,
  fieldViolations,
  whereOffered,
  type CallOptions,
  type Client,
} from '@tessera/rpc/caller';
import type { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import type {
  Difference,
  DirectoryAdminService,
  GivenAdministration,
  Impact as DirectoryImpact,
  TenantDifferences,
  TenantOutcome,
} from '@tessera/proto-gen/directory';
import type { Impact } from '@tessera/proto-gen/impact';
import { DeclaredStateError, type Problem } from '../declared/declared-state-error.ts';
import { warningsIn } from '../declared/warnings.ts';
import { parseDeclaredState, readDeclaredState } from '../declared/read.ts';
import { directoryConfig } from '../config.ts';
import { loadConfig } from '@tessera/process/settings';
import { z } from 'zod';
import { applyInTurn, onlyTenantIn, turnsOf, type Turn } from './apply-in-turn.ts';
import { problemsInFile } from './problems-in-file.ts';
import { resolveDeclaredState } from '../declared/resolve.ts';
import type { DeclaredState, DeclaredTenant } from '../declared/schema.ts';

export { DeclaredStateError };

const { TESSERA_PASSWORD_MIN_LENGTH } = directoryConfig.shape;
const checkConfig = z.object({ TESSERA_PASSWORD_MIN_LENGTH });

export interface ApplyFileOptions {
  readonly admin: Client<typeof DirectoryAdminService>;
  /**
   * Asked in place of `admin` for a file of one tenant, if it is there; it needs only the scopes of the kinds of its
   * records.
   */
  readonly declaredState?: Client<typeof DeclaredStateService>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly call: CallOptions;
  /** Who declares the records; default: the file says it. */
  readonly owner?: string | undefined;
  /** Whether records of other owners are taken over. */
  readonly takeOver?: boolean | undefined;
  /** Reads the document, if `fileName` only names it in messages; default: reads that file. */
  readonly read?: () => Promise<string>;
  /** Throws for a text that must not be applied. */
  readonly check?: (text: string) => void;
  /** Changes the text before its references are resolved. */
  readonly transform?: (text: string) => string;
  /** For who waits. */
  readonly progress?: FileProgress;
}

type AppliedTenant = Pick<
  TenantOutcome,
  'tenantId' | 'created' | 'updated' | 'deleted' | 'unchanged' | 'newPeople'
>;

/** By tenant, in the order of the file. */
interface AppliedFile {
  readonly tenants: readonly AppliedTenant[];
}

/** What goes on with a file. */
export interface FileProgress {
  /** It is read, and declares these tenants. */
  read?(tenants: readonly DeclaredTenant[]): void;
  /** A tenant of several has its turn. */
  began?(tenantId: string): void;
  /** A tenant is applied. A directory that is not asked for one tenant after the other tells all at its end. */
  applied?(tenant: AppliedTenant): void;
}

export type FileDifference = Omit<Difference, '$typeName' | '$unknown'>;

export interface TenantComparison extends Pick<TenantDifferences, 'tenantId' | 'withoutWayIn'> {
  readonly differences: readonly FileDifference[];
  readonly administration: readonly Omit<GivenAdministration, '$typeName' | '$unknown'>[];
  readonly impact?: Impact | DirectoryImpact | undefined;
}

/** By tenant, in the order of the file. */
export interface ComparedFile {
  readonly tenants: readonly TenantComparison[];
}

/**
 * Reads a declared state from a file, replaces its references by values and has the directory apply it. Throws
 * DeclaredStateError for a reference that cannot be resolved and ConnectError (`InvalidArgument`) for every other error
 * in the file; both messages name file, line and key, one line each. Throws ConnectError (`FailedPrecondition`) with a
 * list for what needs `allowDelete` or `allowAdministration`, with the owners of records that are not the caller's, or
 * with what clashes with records of others, by file, line and key. A file of several tenants is checked as a whole, and
 * then applied tenant by tenant: the error of one names it, those before and those that were not tried.
 */
export async function applyFile(
  fileName: string,
  {
    allowDelete = false,
    allowAdministration = false,
    ...options
  }: ApplyFileOptions & { readonly allowDelete?: boolean; readonly allowAdministration?: boolean },
): Promise<AppliedFile> {
  const { document, tenants } = await readFrom(fileName, options);
  const { admin, declaredState, call, owner = '', takeOver = false, progress } = options;
  const request = { document, fileName, allowDelete, allowAdministration, owner, takeOver };
  const atOnce = async (): Promise<AppliedFile> => {
    const applied = await admin.apply(request, call);
    for (const tenant of applied.tenants) progress?.applied?.(tenant);
    return applied;
  };
  if (declaredState === undefined) return atOnce();
  const turns = turnsOf(document, fileName, tenants);
  if (turns === undefined) return atOnce();
  const applyOne = async (turn: Turn): Promise<AppliedTenant> => {
    const { tenantId } = turn;
    const outcome = {
      ...(await declaredState.apply({ ...request, ...turn }, call).catch(inLines)),
      tenantId,
    };
    progress?.applied?.(outcome);
    return outcome;
  };
  const [only, ...others] = turns;
  if (only !== undefined && others.length === 0)
    return whereOffered(
      applyOne(only).then((outcome) => ({ tenants: [outcome] })),
      atOnce,
    );
  const allowed = { allowDelete, allowAdministration };
  const inTurn = async (): Promise<AppliedFile> => {
    const compared = await admin.diff({ document, fileName, owner, takeOver, deletionsOnly: true }, call);
    // What is not allowed, the directory refuses before it writes the first tenant.
    if (!isAllowed(compared, tenants, allowed)) return atOnce();
    const applied = await applyInTurn(turns, async (turn) => {
      progress?.began?.(turn.tenantId);
      return applyOne(turn);
    });
    return { tenants: applied };
  };
  return whereOffered(inTurn(), atOnce);
}

/**
 * Whether a file needs nothing that is not allowed. A comparison without passwords does not show whether an
 * administrator would get another one: where a file declares one, that has to be allowed.
 */
function isAllowed(
  compared: ComparedFile,
  tenants: readonly DeclaredTenant[],
  {
    allowDelete,
    allowAdministration,
  }: { readonly allowDelete: boolean; readonly allowAdministration: boolean },
): boolean {
  const deletes = compared.tenants.some(
    ({ differences, withoutWayIn }) =>
      withoutWayIn.length > 0 || differences.some(({ needsAllowDelete }) => needsAllowDelete),
  );
  const mayGive =
    compared.tenants.some(({ administration }) => administration.length > 0) ||
    tenants.some(({ users }) => users.some(isAdministratorWithPassword));
  return (allowDelete || !deletes) && (allowAdministration || !mayGive);
}

function isAdministratorWithPassword({
  password,
  passwordHash,
  roles,
}: DeclaredTenant['users'][number]): boolean {
  return (password ?? passwordHash) !== undefined && roles.some(isBuiltIn.role);
}

/**
 * Returns what `applyFile` would change, or only what it would delete, which is faster. Throws as that does for errors
 * in the file.
 */
export async function diffFile(
  fileName: string,
  {
    deletionsOnly = false,
    impact = false,
    ...options
  }: ApplyFileOptions & {
    readonly deletionsOnly?: boolean;
    /** Whether it also returns what applying would end. */
    readonly impact?: boolean;
  },
): Promise<ComparedFile> {
  const { document, tenants } = await readFrom(fileName, options);
  const { admin, declaredState, call, owner = '', takeOver = false } = options;
  const request = { document, fileName, deletionsOnly, owner, takeOver, impact };
  const asBefore = async (): Promise<ComparedFile> => admin.diff(request, call);
  const tenantId = onlyTenantIn(tenants);
  // Several are compared with one another, too: one may get what another one gives up.
  if (declaredState === undefined || tenantId === undefined) return asBefore();
  const found = declaredState.diff({ ...request, tenantId }, call).catch(inLines);
  return whereOffered(
    found.then((differences) => ({ tenants: [{ ...differences, tenantId }] })),
    asBefore,
  );
}

/** Throws the error of a call with a document, with the mistakes in it a line each, without the name of the field. */
export function inLines(error: unknown): never {
  const violations = error instanceof ConnectError ? fieldViolations(error) : [];
  if (!(error instanceof ConnectError) || violations.length === 0) throw error;
  if (violations.some(({ field }) => field !== 'document')) throw error;
  throw new ConnectError(violations.map(({ description }) => description).join('\n'), error.code);
}

/**
 * Checks the declared state of a file without a directory, and returns the problems of references whose values are not
 * here; their values are not checked. Throws DeclaredStateError with every error in the file.
 */
export async function checkFile(
  fileName: string,
  {
    environment,
    read = async () => readFile(fileName, 'utf8'),
  }: Pick<ApplyFileOptions, 'environment' | 'read'>,
): Promise<{
  readonly tenants: readonly DeclaredTenant[];
  readonly absent: readonly Problem[];
  readonly warnings: readonly string[];
}> {
  const config = loadConfig(checkConfig, environment);
  const absent: Problem[] = [];
  const mistakes: Problem[] = [];
  const document = await resolveDeclaredState(await read(), fileName, {
    environment,
    readFile: (path) => readFile(path, 'utf8'),
    placeholder: (problem, isMistake) => {
      (isMistake ? mistakes : absent).unshift(problem);
      return `stands for ${problem.key}`.padEnd(32, '.');
    },
  });
  const { tenants } = checked(document, fileName, config.TESSERA_PASSWORD_MIN_LENGTH, mistakes);
  return { tenants, absent, warnings: warningsIn(tenants) };
}

/** Throws DeclaredStateError with these mistakes and all others. */
function checked(
  document: string,
  fileName: string,
  passwordMinLength: number,
  mistakes: readonly Problem[],
): DeclaredState {
  const problems = [...mistakes];
  try {
    const read = readDeclaredState(document, fileName, passwordMinLength);
    problems.push(...problemsInFile(read));
    if (problems.length === 0) return read.state;
  } catch (error) {
    if (!(error instanceof DeclaredStateError)) throw error;
    problems.push(...error.problems);
  }
  throw new DeclaredStateError(problems);
}

/** Reads a file whose mistakes others find. Throws DeclaredStateError for a reference that cannot be resolved. */
async function readFrom(
  fileName: string,
  {
    environment,
    read = async () => readFile(fileName, 'utf8'),
    check,
    transform = (text) => text,
    progress,
  }: ApplyFileOptions,
): Promise<{ readonly document: string; readonly tenants: readonly DeclaredTenant[] }> {
  const text = await read();
  check?.(text);
  const document = await resolveDeclaredState(transform(text), fileName, {
    environment,
    readFile: (path) => readFile(path, 'utf8'),
  });
  const { tenants } = parseDeclaredState(document, fileName);
  progress?.read?.(tenants);
  return { document, tenants };
}
