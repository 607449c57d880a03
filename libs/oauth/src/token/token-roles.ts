/**
 * The roles of a person that a token may name: those that every list has which is not empty, in the order of the
 * person's.
 */
export function namedRoles(held: readonly string[], ...lists: readonly (readonly string[])[]): string[] {
  const named = lists.filter((list) => list.length > 0).map((list) => new Set(list));
  return held.filter((role) => named.every((list) => list.has(role)));
}
