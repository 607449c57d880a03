/** Whose the records are that people and programs write one by one. */
const ours: ReadonlySet<string> = new Set(['', 'api']);

/** Who else keeps a record, and would undo what is changed here; undefined for nobody. */
export function otherOwner({ owner }: { readonly owner: string }): string | undefined {
  return ours.has(owner) ? undefined : owner;
}
