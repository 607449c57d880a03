import type { z } from 'zod';
import { everything, wellFormedPart } from './well-formed.ts';
import { DeclaredStateError, tellApart, type Problem } from './declared-state-error.ts';
import { DeclaredText } from './positions.ts';
import type { Report } from '../fields/field-checks.ts';
import type { Path } from '../fields/path.ts';
import { checkRules } from './rules.ts';
import { declaredState, type DeclaredState, type DeclaredTenant } from './schema.ts';
import { sentence } from '../fields/sentences.ts';
import { assumedFor, type Surroundings } from './surroundings.ts';
import { checkPasswords } from './weak-passwords.ts';

/** A declared state that keeps every rule by itself, and where its keys stand. */
export interface ReadState {
  readonly state: DeclaredState;
  /** The rules that it breaks together with what its tenants have besides. */
  readonly conflicts: readonly Problem[];
  /** A problem found later, for example against the stored records. */
  problem(path: Path, message: string): Problem;
}

/** A declared state whose tenants are known, but whose rules are not checked yet. */
interface ParsedState {
  readonly owner: string | undefined;
  readonly tenantIds: readonly string[];
  /** The entries that can be read, without what is malformed in them. */
  readonly tenants: readonly DeclaredTenant[];
  /** The entries of other tenants. */
  othersThan(tenantId: string): readonly Problem[];
  /**
   * Throws DeclaredStateError with every mistake found, by file, line and key; conflicts alone are returned.
   * @param around what a tenant has besides what is declared
   * @param passwordMinLength in characters
   */
  checked(around: (tenant: DeclaredTenant) => Surroundings, passwordMinLength: number): ReadState;
}

/** Reads a declared state whose references are resolved. Throws DeclaredStateError if it is not YAML. */
export function parseDeclaredState(text: string, fileName: string): ParsedState {
  const source = new DeclaredText(text, fileName);
  const values = source.values();
  const parsed = declaredState.safeParse(values, { error: sentence });
  const checkable = parsed.success ? everything(parsed.data) : wellFormedPart(values);
  const { tenants, pathOf, withMalformed } = checkable;
  return {
    owner: parsed.data?.owner,
    tenantIds: [...new Set(tenants.map(({ id }) => id))],
    tenants,
    othersThan: (tenantId) =>
      tenants.flatMap(({ id }, index) =>
        id === tenantId
          ? []
          : [source.problem(pathOf(['tenants', index, 'id']), 'is another tenant than that of the request')],
      ),
    checked(around, passwordMinLength) {
      const problemsBy = (check: (report: Report) => void): Problem[] => {
        const problems: Problem[] = [];
        check((path, message) => problems.push(source.problem(pathOf(path), message)));
        return problems;
      };
      const brokenBeside = (others: typeof around): Problem[] =>
        problemsBy((report) =>
          checkRules(tenants, report, (tenant) => withMalformed(tenant, others(tenant))),
        );
      const broken = tellApart(brokenBeside(around), () => brokenBeside(assumedFor));
      const mistakes = [
        ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => locate(source, issue))),
        ...broken.mistakes,
        ...problemsBy((report) => checkPasswords(tenants, report, passwordMinLength)),
      ];
      const { conflicts } = broken;
      if (!parsed.success || mistakes.length > 0) throw new DeclaredStateError([...mistakes, ...conflicts]);
      const problem: ReadState['problem'] = (path, message) => source.problem(path, message);
      return { state: parsed.data, conflicts, problem };
    },
  };
}

/** Reads a declared state without a directory. Throws DeclaredStateError with every mistake that it shows by itself. */
export function readDeclaredState(text: string, fileName: string, passwordMinLength: number): ReadState {
  return parseDeclaredState(text, fileName).checked(assumedFor, passwordMinLength);
}

function locate(source: DeclaredText, issue: z.core.$ZodIssue): Problem[] {
  const path = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
  if (issue.code !== 'unrecognized_keys') return [source.problem(path, issue.message)];
  return issue.keys.map((key) => source.problem([...path, key], unknownKey(key)));
}

function unknownKey(key: string): string {
  return /from(env|file)$/i.test(key)
    ? 'is resolved by the process that reads the file, and only for secrets and passwords'
    : 'is not a known key';
}
