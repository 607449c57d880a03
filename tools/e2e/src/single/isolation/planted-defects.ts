import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A change of one source file. */
export interface SourceEdit {
  /** From the root. */
  readonly file: string;
  readonly text: string;
  /** Where the text begins. */
  readonly at: number;
  readonly replacement: string;
}

/** A check that is missing, with the checks that stand behind it. */
interface Defect {
  readonly name: string;
  readonly edits: readonly SourceEdit[];
  /** What `tessera smoke --isolation` then names. */
  readonly found: string;
}

const root = fileURLToPath(new URL('../../../../../', import.meta.url));
const sources = globSync('libs/*/src/**/*.ts', {
  cwd: root,
  exclude: (name) => /\.(test|contract)\.ts$|^testing$/.test(name),
}).map((file) => [file, readFileSync(root + file, 'utf8')] as const);

/** A text is looked for in all sources, as files are moved. */
function editOf(text: string, replacement: string): SourceEdit {
  const [found, another] = sources.filter(([, source]) => source.includes(text));
  if (found === undefined || another !== undefined || found[1].split(text).length !== 2)
    throw new Error(`planted-defects.txt: the text must stand once in the sources: ${text}`);
  return { file: found[0], text, at: found[1].indexOf(text), replacement };
}

function defectOf(paragraph: string): Defect {
  const [name = '', found = '', ...lines] = paragraph.trimEnd().split(/\n(?=[>~+-](?:[ \n]|$))/);
  const edits = lines.flatMap((line, at) => {
    const text = line.slice(2);
    if (line.startsWith('~'))
      return [editOf(text, text.replace(/[\w.]*tenant_id = (\$\d)/, '$1::text IS NOT NULL'))];
    return line.startsWith('-') ? [editOf(text, lines[at + 1]?.slice(2) ?? '')] : [];
  });
  return { name, found: found.slice(2), edits };
}

const [, ...paragraphs] = readFileSync(new URL('planted-defects.txt', import.meta.url), 'utf8').split(/\n\n/);

export const defects: readonly Defect[] = paragraphs.map(defectOf);

/**
 * Defects that are planted together, as each run starts a server: so many, and no two in one text or found by one
 * request.
 */
export function groupsOf(size: number): readonly (readonly Defect[])[] {
  const groups: Defect[][] = [];
  for (const defect of defects) {
    const group = groups.find((each) => each.length < size && !each.some((other) => collide(defect, other)));
    if (group === undefined) groups.push([defect]);
    else group.push(defect);
  }
  return groups;
}

function collide(one: Defect, other: Defect): boolean {
  return (
    one.found === other.found || one.edits.some((edit) => other.edits.some((each) => overlap(edit, each)))
  );
}

function overlap(one: SourceEdit, other: SourceEdit): boolean {
  return (
    one.file === other.file && one.at < other.at + other.text.length && other.at < one.at + one.text.length
  );
}
