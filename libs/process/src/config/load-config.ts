import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { nearest } from '@tessera/kit';
import { isRemoved } from './removed-settings.ts';
import settingNames from './setting-names.json' with { type: 'json' };

/** The configuration cannot be used. The message lists every problem, one line each, and no value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
    super([`The configuration has ${count}:`, ...problems.map((problem) => `  - ${problem}`)].join('\n'));
    this.problems = problems;
  }
}

/**
 * The names of all settings (`npm run generate` collects them), so that one environment file can serve every process of
 * the split topology, and a process that does not load the other services still finds a misspelt name.
 */
export const knownSettings: readonly string[] = settingNames;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings of one process. Every key K may instead be given as `K_FILE`, the path of a file that holds the
 * value; an empty value counts as absent. All problems are reported at once.
 * @param options `known`: names beginning with TESSERA_ that belong to other processes and are no mistake here
 * @throws ConfigError
 */
export function loadConfig<S extends z.ZodObject>(
  schema: S,
  environment: Environment,
  { known: others = knownSettings }: { readonly known?: readonly string[] } = {},
): z.infer<S> {
  const keys = Object.keys(schema.shape);
  const known = new Set([...others, ...keys]);
  const problems = unknownNames(environment, known);
  const values: Record<string, string> = {};
  const unreadable = new Set<string>();
  for (const key of keys) {
    const found = readSetting(key, environment, known);
    if (found.problem !== undefined) {
      problems.push(found.problem);
      unreadable.add(key);
    } else if (found.value !== undefined) values[key] = found.value;
  }
  const config: Record<string, unknown> = {};
  for (const part of partsOf(schema)) {
    const parsed = part.safeParse(values);
    Object.assign(config, parsed.data);
    for (const issue of parsed.error?.issues ?? []) {
      const key = String(issue.path[0] ?? '');
      if (!unreadable.has(key)) problems.push(describe(key, values, issue));
    }
  }
  // Several parts may read the same setting.
  if (problems.length > 0) throw new ConfigError([...new Set(problems)]);
  return config as z.infer<S>;
}

/** Whether a setting is there, itself or as the path of a file; an empty value counts as absent. */
export function isGiven(environment: Environment, key: string): boolean {
  return [key, `${key}_FILE`].some((name) => (environment[name] ?? '') !== '');
}

function readSetting(
  key: string,
  environment: Environment,
  known: ReadonlySet<string>,
): { readonly value?: string; readonly problem?: string } {
  const direct = environment[key] === '' ? undefined : environment[key];
  const fileKey = `${key}_FILE`;
  const path = known.has(fileKey) ? undefined : environment[fileKey];
  if (path === undefined || path === '') return direct === undefined ? {} : { value: direct };
  if (direct !== undefined) return { problem: `${key} and ${fileKey} are both set. Remove one of them.` };
  try {
    const content = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    return content === ''
      ? { problem: `${fileKey} names an empty file. Put the value into it.` }
      : { value: content };
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    return {
      problem: `${fileKey} names a file that cannot be read (${reason}). Correct the path or its permissions.`,
    };
  }
}

function unknownNames(environment: Environment, known: ReadonlySet<string>): string[] {
  const problems: string[] = [];
  for (const name of Object.keys(environment).toSorted()) {
    if (!name.startsWith('TESSERA_') || known.has(name) || isRemoved(name)) continue;
    if (isServiceLink(name, environment[name])) continue;
    if (name.endsWith('_FILE') && known.has(name.slice(0, -'_FILE'.length))) continue;
    const meant = nearest(name, known);
    const advice = meant === undefined ? 'Remove it.' : `Remove it, or did you mean ${meant}?`;
    problems.push(`${name} is not a setting of Tessera. ${advice}`);
  }
  return problems;
}

/** Kubernetes tells every container of the Services beside it, in names made from theirs. */
function isServiceLink(name: string, value: string | undefined): boolean {
  if (/_SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name))
    return true;
  return name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value ?? '');
}

function describe(key: string, values: Readonly<Record<string, string>>, issue: z.core.$ZodIssue): string {
  if (key === '') return issue.message;
  if (values[key] === undefined && issue.code === 'invalid_type') {
    return `${key} is missing. Set it, or ${key}_FILE to the path of a file that holds it.`;
  }
  return `${key}: ${issue.message.replace(/\.?$/, '.')}`;
}

type Schemas = readonly [z.ZodObject, ...z.ZodObject[]];

type Shapes<S extends Schemas> = S extends readonly [
  infer Head extends z.ZodObject,
  ...infer Tail extends Schemas,
]
  ? Head['shape'] & Shapes<Tail>
  : S[0]['shape'];

type Combined<S extends Schemas> = z.ZodObject<Shapes<S>>;

/** The schemas that a combined one was made of; each is parsed by itself, with its rules over several settings. */
const combined = new WeakMap<z.ZodObject, readonly z.ZodObject[]>();

function partsOf(schema: z.ZodObject): readonly z.ZodObject[] {
  return combined.get(schema)?.flatMap(partsOf) ?? [schema];
}

/**
 * One schema for a process that hosts several parts, for `loadConfig`, which applies the rules that a part has over
 * several settings. A setting that several parts read must have one schema, from `settings-of-several-services.ts`.
 * @throws Error when a setting has two schemas: one of them, and its rules, would be lost
 */
export function combine<const S extends Schemas>(...schemas: S): Combined<S> {
  const shape: Record<string, z.core.$ZodType> = {};
  for (const schema of schemas) {
    const own: Readonly<Record<string, z.core.$ZodType>> = schema.shape;
    for (const [key, type] of Object.entries(own)) {
      if (shape[key] !== undefined && shape[key] !== type) throw new Error(`${key} has two schemas`);
      shape[key] = type;
    }
  }
  const all = z.object(shape);
  combined.set(all, schemas);
  return all as unknown as Combined<S>;
}
