import { readFile } from 'node:fs/promises';
import { isBuiltIn } from '@tessera/oauth';
import { Code, ConnectError, fieldViolations, type CallOptions, type Client } from '@tessera/rpc/caller';
import type {
  ApplyDeclaredStateResponse,
  DeclaredDifference,
  DeclaredStateService,
  DiffDeclaredStateResponse,
  GivenPowers,
} from '@tessera/proto-gen/admin-declared_state';
import { DeclaredStateError, type Problem } from '../declared/declared-state-error.ts';
import { warningsIn } from '../declared/warnings.ts';
import { parseDeclaredState, readDeclaredState } from '../declared/read.ts';
import { directoryConfig } from '../config.ts';
import { loadConfig } from '@tessera/process/settings';
import { z } from 'zod';
import { applyInTurn } from './apply-in-turn.ts';
import { problemsInFile } from './problems-in-file.ts';
import { unallowedAdministration, unallowedDeletions } from './guards/unallowed-changes.ts';
import { resolveDeclaredState } from '../declared/resolve.ts';
import type { DeclaredState, DeclaredTenant } from '../declared/schema.ts';
import { allReferredTo } from '../declared/surroundings.ts';
import { tenantsApart, type TenantApart } from '../declared/tenants-apart.ts';

export { DeclaredStateError };

const { TESSERA_PASSWORD_MIN_LENGTH } = directoryConfig.shape;
const checkConfig = z.object({ TESSERA_PASSWORD_MIN_LENGTH });

export interface ApplyFileOptions {
  readonly declaredState: Client<typeof DeclaredStateService>;
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

/** What must be allowed, or is not done. */
interface Allowed {
  readonly allowDelete?: boolean;
  readonly allowAdministration?: boolean;
}

interface AppliedTenant extends Pick<
  ApplyDeclaredStateResponse,
  'created' | 'updated' | 'deleted' | 'unchanged' | 'newPeople'
> {
  readonly tenantId: string;
}

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
  /** A tenant is applied. */
  applied?(tenant: AppliedTenant): void;
}

export type FileDifference = Omit<DeclaredDifference, '$typeName' | '$unknown'>;

export interface TenantComparison extends Pick<DiffDeclaredStateResponse, 'withoutWayIn'> {
  readonly tenantId: string;
  readonly differences: readonly FileDifference[];
  readonly administration: readonly Omit<GivenPowers, '$typeName' | '$unknown'>[];
  readonly impact?: DiffDeclaredStateResponse['impact'] | undefined;
}

/** By tenant, in the order of the file. */
export interface ComparedFile {
  readonly tenants: readonly TenantComparison[];
}

/**
 * Reads a declared state from a file, replaces its references by values and has the directory apply it. Throws
 * DeclaredStateError and ConnectError (`InvalidArgument`) for errors in the file, whose messages name file, line and
 * key, one line each. Throws ConnectError (`FailedPrecondition`) with a list for what needs `allowDelete` or
 * `allowAdministration`, with the owners of records that are not the caller's, or with what clashes with records of
 * others, by file, line and key. Each tenant of a file of several is compared before the first one is applied; the
 * error of one names it, those before and those that were not tried.
 */
export async function applyFile(
  fileName: string,
  { allowDelete = false, allowAdministration = false, ...options }: ApplyFileOptions & Allowed,
): Promise<AppliedFile> {
  const { turns, tenants } = await readFrom(fileName, options);
  const { declaredState, call, owner = '', takeOver = false, progress } = options;
  const applyOne = async ({ tenantId, document }: TenantApart): Promise<AppliedTenant> => {
    const about = { tenantId, document, fileName, owner, takeOver };
    const request = { ...about, allowDelete, allowAdministration };
    const applied = { ...(await declaredState.apply(request, call).catch(inLines)), tenantId };
    progress?.applied?.(applied);
    return applied;
  };
  const [only, ...others] = turns;
  if (only !== undefined && others.length === 0) return { tenants: [await applyOne(only)] };
  const compared = await compareInTurn(fileName, turns, options, ({ tenantId }) => {
    const { users = [] } = tenants.find(({ id }) => id === tenantId) ?? {};
    // Only the comparison of passwords shows whether an administrator would get another one.
    return { deletionsOnly: allowAdministration || !users.some(isAdministratorWithPassword) };
  });
  refuseUnallowed(compared, { allowDelete, allowAdministration });
  const applied = await applyInTurn(turns, async (turn) => {
    progress?.began?.(turn.tenantId);
    return applyOne(turn);
  });
  return { tenants: applied };
}

function refuseUnallowed(
  compared: readonly TenantComparison[],
  { allowDelete, allowAdministration }: Required<Allowed>,
): void {
  const ofTenants = <T>(named: (tenant: TenantComparison) => readonly T[]) =>
    compared.flatMap((tenant) => named(tenant).map((one) => ({ tenantId: tenant.tenantId, ...one })));
  const deletions = ofTenants(({ differences }) =>
    differences.filter(({ needsAllowDelete }) => needsAllowDelete),
  );
  const shutOut = ofTenants(({ withoutWayIn }) => withoutWayIn.map((name) => ({ kind: 'user', name })));
  const refusal =
    (allowDelete ? undefined : unallowedDeletions({ deletions, shutOut })) ??
    (allowAdministration ? undefined : unallowedAdministration(ofTenants((tenant) => tenant.administration)));
  if (refusal !== undefined) throw new ConnectError(refusal, Code.FailedPrecondition);
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
  const { turns } = await readFrom(fileName, options);
  return { tenants: await compareInTurn(fileName, turns, options, () => ({ deletionsOnly, impact })) };
}

/** Compares each tenant. Throws one ConnectError with what is refused of all of them, mistakes of the file first. */
async function compareInTurn(
  fileName: string,
  turns: readonly TenantApart[],
  { declaredState, call, owner = '', takeOver = false }: ApplyFileOptions,
  how: (turn: TenantApart) => { readonly deletionsOnly: boolean; readonly impact?: boolean },
): Promise<readonly TenantComparison[]> {
  const ids = turns.map(({ tenantId }) => tenantId);
  const compared: TenantComparison[] = [];
  const refusals: ConnectError[] = [];
  for (const turn of turns) {
    const { tenantId, document } = turn;
    const otherTenants = ids.filter((id) => id !== tenantId);
    const request = { tenantId, document, fileName, owner, takeOver, otherTenants, ...how(turn) };
    try {
      compared.push({ ...(await declaredState.diff(request, call).catch(inLines)), tenantId });
    } catch (error) {
      const isRefused = error instanceof ConnectError && refusedCodes.includes(error.code);
      if (!isRefused) throw error;
      refusals.push(new ConnectError(turn.placed(error.rawMessage), error.code));
    }
  }
  const [first, ...more] = refusals.toSorted(
    (one, other) => refusedCodes.indexOf(one.code) - refusedCodes.indexOf(other.code),
  );
  if (first === undefined) return compared;
  throw new ConnectError([first, ...more].map(({ rawMessage }) => rawMessage).join('\n'), first.code);
}

const refusedCodes: readonly Code[] = [Code.InvalidArgument, Code.FailedPrecondition];

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

/**
 * Reads a file. Throws DeclaredStateError for a reference that cannot be resolved and, of a file of several tenants,
 * for what is wrong whatever the directory has; it finds the mistakes of each tenant.
 */
async function readFrom(
  fileName: string,
  {
    environment,
    read = async () => readFile(fileName, 'utf8'),
    check,
    transform = (text) => text,
    progress,
  }: ApplyFileOptions,
): Promise<{ readonly turns: readonly TenantApart[]; readonly tenants: readonly DeclaredTenant[] }> {
  const text = await read();
  check?.(text);
  const document = await resolveDeclaredState(transform(text), fileName, {
    environment,
    readFile: (path) => readFile(path, 'utf8'),
  });
  const parsed = parseDeclaredState(document, fileName);
  const { tenants, tenantIds } = parsed;
  const [only, ...others] = tenantIds;
  progress?.read?.(tenants);
  if (only !== undefined && others.length === 0)
    return { turns: [{ tenantId: only, document, placed: (reason) => reason }], tenants };
  // The directory says how long passwords have to be.
  parsed.checked(allReferredTo, 0);
  return { turns: tenantsApart(document, fileName), tenants };
}
