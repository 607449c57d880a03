import { readFile } from 'node:fs/promises';
import type { CallOptions, Client } from '@tessera/rpc';
import type { ApplyResponse, DiffResponse, DirectoryAdminService } from '@tessera/proto-gen/directory';
import { DeclaredStateError, type Problem } from '../declared/positions.ts';
import { warningsIn } from '../declared/warnings.ts';
import { readDeclaredState } from '../declared/read.ts';
import { directoryConfig } from '../config.ts';
import { loadConfig } from '@tessera/process';
import { z } from 'zod';
import { problemsInFile } from './problems-in-file.ts';
import { resolveDeclaredState } from '../declared/resolve.ts';
import type { DeclaredState, DeclaredTenant } from '../declared/schema.ts';

const { TESSERA_PASSWORD_MIN_LENGTH, TESSERA_OPERATOR_TENANT } = directoryConfig.shape;
const checkConfig = z.object({ TESSERA_PASSWORD_MIN_LENGTH, TESSERA_OPERATOR_TENANT });

export interface ApplyFileOptions {
  readonly admin: Client<typeof DirectoryAdminService>;
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
}

/**
 * Reads a declared state from a file, replaces its references by values and has the directory apply it. Throws
 * DeclaredStateError for a reference that cannot be resolved and ConnectError (`InvalidArgument`) for every other error in
 * the file; both messages name file, line and key, one line each. Throws ConnectError (`FailedPrecondition`) with a list for
 * what needs `allowDelete` or `allowAdministration`, or with the owners of records that are not the caller's.
 */
export async function applyFile(
  fileName: string,
  {
    allowDelete = false,
    allowAdministration = false,
    ...options
  }: ApplyFileOptions & { readonly allowDelete?: boolean; readonly allowAdministration?: boolean },
): Promise<ApplyResponse> {
  const document = await resolved(fileName, options);
  const { owner = '', takeOver = false } = options;
  const request = { document, fileName, allowDelete, allowAdministration, owner, takeOver };
  return options.admin.apply(request, options.call);
}

/** Returns what `applyFile` would change, or only what it would delete, which is faster. Throws as that does for errors in the file. */
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
): Promise<DiffResponse> {
  const document = await resolved(fileName, options);
  const { owner = '', takeOver = false } = options;
  return options.admin.diff({ document, fileName, deletionsOnly, owner, takeOver, impact }, options.call);
}

/**
 * Checks the declared state of a file without a directory, and returns the problems of references whose values are not here;
 * their values are not checked. Throws DeclaredStateError with every error in the file.
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
  return { tenants, absent, warnings: warningsIn(tenants, config.TESSERA_OPERATOR_TENANT) };
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

async function resolved(
  fileName: string,
  {
    environment,
    read = async () => readFile(fileName, 'utf8'),
    check,
    transform = (text) => text,
  }: ApplyFileOptions,
): Promise<string> {
  const text = await read();
  check?.(text);
  return resolveDeclaredState(transform(text), fileName, {
    environment,
    readFile: (path) => readFile(path, 'utf8'),
  });
}
