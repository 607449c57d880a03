import { fitTogether } from '@tessera/directory';

type Attributes = Readonly<Record<string, unknown>>;

/**
 * As many attributes as a person may have, with all of `own`. Of the others the largest go first, and of those of one
 * size the last.
 */
export function fittingAttributes(
  own: Attributes,
  others: Attributes,
): { readonly kept: Record<string, unknown>; readonly gone: readonly string[] } {
  const kept: Record<string, unknown> = { ...others, ...own };
  const sizeOf = (name: string): number => JSON.stringify(others[name]).length;
  const largestFirst = Object.keys(others)
    .filter((name) => !Object.hasOwn(own, name))
    .reverse()
    .toSorted((left, right) => sizeOf(right) - sizeOf(left));
  const gone: string[] = [];
  for (const name of largestFirst) {
    if (fitTogether(kept)) break;
    Reflect.deleteProperty(kept, name);
    gone.push(name);
  }
  return { kept, gone };
}
