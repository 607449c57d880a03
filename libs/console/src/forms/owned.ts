import type { Cell } from '@tessera/pages';

/** Whose the records are that people and programs write one by one. */
const ours: ReadonlySet<string> = new Set(['', 'api']);

/** Who else keeps a record, and would undo what is changed here; undefined for nobody. */
export function otherOwner({ owner }: { readonly owner: string }): string | undefined {
  return ours.has(owner) ? undefined : owner;
}

const words: Readonly<Record<string, string>> = { api: 'Console or API', file: 'Configuration file' };

/** Who keeps a record, as a sentence of the languages or the name that somebody chose. */
export function ownerLabel(owner: string): string {
  return words[owner] ?? owner;
}

/** Who keeps a record; a name that somebody chose is shown as it is. */
export function ownerCell(owner: string, href?: string): Cell {
  const sentence = words[owner];
  return sentence === undefined ? { text: owner, href } : { sentence, href };
}
