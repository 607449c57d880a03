import { dirname, resolve } from 'node:path';
import { isMap, isScalar, isSeq, type Node } from 'yaml';
import { DeclaredStateError, type Problem } from './declared-state-error.ts';
import { DeclaredText } from './positions.ts';
import type { Path } from '../fields/path.ts';

export interface ReferenceSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Reads a file as UTF-8; rejects when it cannot. The path is absolute if the declared file's name is. */
  readonly readFile: (path: string) => Promise<string> | string;
  /**
   * Substitutes a value. Called with its problem: it is not here, or its key has a mistake; without this, the problem
   * is an error.
   */
  readonly placeholder?: (problem: Problem, isMistake: boolean) => string;
}

/** Where secrets and passwords may refer to the environment or to a file, and the key that takes the value. */
export const references: Readonly<
  Record<string, { readonly from: 'environment' | 'file'; readonly key: string }>
> = {
  passwordFromEnv: { from: 'environment', key: 'password' },
  passwordFromFile: { from: 'file', key: 'password' },
  clientSecretFromEnv: { from: 'environment', key: 'clientSecret' },
  clientSecretFromFile: { from: 'file', key: 'clientSecret' },
  fromEnv: { from: 'environment', key: 'value' },
  fromFile: { from: 'file', key: 'value' },
};

/** What may have references: a user, a provider, or a secret of an application. */
export const referencePlaces = ['tenants.users', 'tenants.providers', 'tenants.applications.secrets'];

interface Reference {
  readonly path: Path;
  readonly from: 'environment' | 'file';
  readonly key: string;
  /** Name of a variable, or a path relative to the declared file. */
  readonly source: unknown;
  /** The part of the text to replace: the key and its scalar. */
  readonly range: readonly [start: number, end: number];
}

/**
 * Puts values in the place of `passwordFromEnv`, `passwordFromFile`, `fromEnv` and `fromFile`, so that the text can
 * travel to a process that has neither this environment nor these files. Lines keep their numbers. A file's last
 * line end is not part of its value. Throws DeclaredStateError when a reference cannot be resolved.
 */
export async function resolveDeclaredState(
  text: string,
  fileName: string,
  sources: ReferenceSources,
): Promise<string> {
  const declared = new DeclaredText(text, fileName);
  if (declared.isJson && !Object.keys(references).some((name) => text.includes(`"${name}"`))) return text;
  const problems: Problem[] = [];
  let resolved = text;
  // From the end, so that the places found earlier in the text stay where they are.
  for (const reference of findReferences(declared).reverse()) {
    const found = await read(reference, fileName, sources);
    const problem = 'problem' in found ? declared.problem(reference.path, found.problem) : undefined;
    const isMistake = typeof reference.source !== 'string' || reference.source === '';
    const value = 'value' in found ? found.value : problem && sources.placeholder?.(problem, isMistake);
    if (value === undefined) {
      if (problem !== undefined) problems.unshift(problem);
      continue;
    }
    const [start, end] = reference.range;
    resolved = `${resolved.slice(0, start)}${reference.key}: ${quote(value)}${resolved.slice(end)}`;
  }
  if (problems.length > 0) throw new DeclaredStateError(problems);
  return resolved;
}

async function read(
  { from, source }: Reference,
  fileName: string,
  { environment, readFile }: ReferenceSources,
): Promise<{ value: string } | { problem: string }> {
  if (typeof source !== 'string' || source === '') return { problem: 'must be text; put it in quotes' };
  if (from === 'environment') {
    const value = environment[source];
    if (value === undefined || value === '') return { problem: `the variable ${source} is not set` };
    return { value };
  }
  try {
    const value = await readFile(resolve(dirname(fileName), source));
    return { value: value.replace(/\r?\n$/, '') };
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    return { problem: `the file cannot be read (${reason})` };
  }
}

/** In the order of the text. */
function findReferences({ document }: DeclaredText): Reference[] {
  const found: Reference[] = [];
  const visit = (node: unknown, path: Path): void => {
    if (isSeq<Node>(node)) node.items.forEach((item, index) => visit(item, [...path, index]));
    if (!isMap<unknown, Node>(node)) return;
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : '';
      const reference = isReferencePlace(path) ? references[name] : undefined;
      if (reference === undefined) visit(value, [...path, name]);
      else if (isScalar(key) && isScalar(value) && key.range && value.range) {
        const range = [key.range[0], value.range[1]] as const;
        found.push({ ...reference, path: [...path, name], source: value.value, range });
      }
    }
  };
  visit(document.contents, []);
  return found.sort((left, right) => left.range[0] - right.range[0]);
}

function isReferencePlace(path: Path): boolean {
  return referencePlaces.includes(path.filter((step) => typeof step === 'string').join('.'));
}

/** JSON strings are YAML strings; the line separators that JSON leaves as they are would end a YAML 1.1 line. */
function quote(value: string): string {
  return JSON.stringify(value).replace(
    /[\u0085\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
