import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A change of one source file. */
export interface SourceEdit {
  /** From the root. */
  readonly file: string;
  readonly text: string;
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
  return { file: found[0], text, replacement };
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
  const keysOf = ({ found, edits }: Defect) => [found, ...edits.map(({ text }) => text)];
  for (const defect of defects) {
    const keys = new Set(keysOf(defect));
    const fits = (group: readonly Defect[]): boolean =>
      group.length < size && !group.flatMap(keysOf).some((key) => keys.has(key));
    const group = groups.find(fits);
    if (group === undefined) groups.push([defect]);
    else group.push(defect);
  }
  return groups;
}
