import { builtInScopes, serviceScopes } from '@tessera/oauth';
import type { Path } from './path.ts';

/** Called with every mistake. */
export type Report = (path: Path, message: string) => void;

/** Whether a scope is known without a declaration. */
export function isBuiltInScope(scope: string): boolean {
  return builtInScopes.has(scope) || serviceScopes.has(scope);
}

/** Calls `refuse` with the index of every value that stands before it too. */
export function refuseRepeated(values: readonly string[], refuse: (index: number) => void): void {
  values.forEach((value, index) => {
    if (values.indexOf(value) < index) refuse(index);
  });
}
