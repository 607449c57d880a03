import { checkFile, DeclaredStateError, inLines } from '@tessera/directory/apply-file';
import {
  DeclaredStateService,
  type ApplyDeclaredStateResponse,
  type DiffDeclaredStateResponse,
} from '@tessera/proto-gen/admin-declared_state';
import { ConfigError } from '@tessera/process/settings';
import { Code, ConnectError } from '@tessera/rpc/caller';
import { isDirect } from '../contexts/say-where.ts';
import type { Allowed } from '../operate/records/show-comparison.ts';
import { withoutOwnNames } from '../settings.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import type { Entry } from './files/imported.ts';
import type { Mistake } from './leave-out.ts';
import type { ReachedDirectory } from './reached-directory.ts';

/** Of a document, so that the message with it has no more than 4 MiB, which services take. */
const mostBytes = 4 * 1024 * 1024 - 4096;

/** Of the document, of which nobody has the lines. It stands in each of many lines of an answer. */
const fileName = 'import';

/** What one call declares of a tenant. */
export interface DeclaredPart {
  /** The entry of the tenant in the document. */
  readonly entry: Entry;
  /** Of these kinds, what it leaves out stays. */
  readonly keptKinds: readonly string[];
  /** User names of people who do not stay nevertheless. */
  readonly deletedUsers?: readonly string[];
}

/** What was answered, or what of the part is refused. */
export type Answer<T> =
  | { readonly answer: T; readonly mistakes: readonly Mistake[] }
  | { readonly answer?: undefined; readonly mistakes: readonly Mistake[] };

/** Calls with parts of what an owner declares of a tenant. Each of them may be repeated. */
export interface PartCalls {
  /** The mistakes that a part shows by itself, of which there may be more than an answer can name. */
  mistakesIn(entry: Entry): Promise<readonly Mistake[]>;
  /** @param deletionsOnly as of the call: it is faster */
  diff(part: DeclaredPart, deletionsOnly: boolean): Promise<Answer<DiffDeclaredStateResponse>>;
  apply(part: DeclaredPart, allowed: Allowed): Promise<Answer<ApplyDeclaredStateResponse>>;
}

interface Of {
  readonly tenantId: string;
  readonly owner: string;
  readonly takeOver: boolean;
}

/** Both calls throw CommandError: with exit code 3 for records of other owners, and for what has to be allowed. */
export function createPartCalls(
  of: Of,
  directory: ReachedDirectory,
  terminal: Pick<Terminal, 'environment' | 'reach'>,
): PartCalls {
  const { environment } = terminal;
  const requestOf = ({ entry, keptKinds, deletedUsers = [] }: DeclaredPart) => {
    const document = documentOf(entry);
    if (!isDirect(terminal)) refuseTooLarge(document);
    return { ...of, fileName, document, keptKinds: [...keptKinds], deletedUsers: [...deletedUsers] };
  };
  return {
    async mistakesIn(entry) {
      try {
        const read = async () => documentOf(entry);
        await checkFile(fileName, { environment: withoutOwnNames(environment), read });
        return [];
      } catch (error) {
        if (error instanceof DeclaredStateError) return error.problems;
        if (error instanceof ConfigError) throw new CommandError(error.message);
        throw error;
      }
    },
    diff: (part, deletionsOnly) =>
      directory.call(async (clientOf, call) =>
        answered(clientOf(DeclaredStateService).diff({ ...requestOf(part), deletionsOnly }, call)),
      ),
    apply: (part, allowed) =>
      directory.call(async (clientOf, call) =>
        answered(clientOf(DeclaredStateService).apply({ ...requestOf(part), ...allowed }, call)),
      ),
  };
}

/** JSON is YAML, which takes the directory far longer to read. */
function documentOf(entry: Entry): string {
  return JSON.stringify({ tenants: [entry] });
}

/** A call that is too large looks like one to repeat. Throws CommandError. */
function refuseTooLarge(document: string): void {
  if (Buffer.byteLength(document) > mostBytes)
    throw new CommandError(
      'The applications, scopes and roles are more than one call may carry (4 MiB). Give --direct, DATABASE_URL and the pepper of the directory: then nothing is called.',
    );
}

async function answered<T>(asked: Promise<T>): Promise<Answer<T>> {
  try {
    return { answer: await asked.catch(inLines), mistakes: [] };
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    const isConflict = error.code === Code.FailedPrecondition;
    const mistakes = isConflict || error.code === Code.InvalidArgument ? mistakesOf(error.rawMessage) : [];
    if (mistakes.length > 0) return { mistakes };
    throw isConflict ? new CommandError(error.rawMessage, 3) : error;
  }
}

/** From `file:line:column: key: sentence`, line by line. */
function mistakesOf(text: string): Mistake[] {
  return text.split('\n').flatMap((line) => {
    const [, key = '', message = ''] = /:\d+:\d+: (tenants\[0\]\S*): (.*)$/.exec(line) ?? [];
    return key === '' ? [] : [{ key, message }];
  });
}
