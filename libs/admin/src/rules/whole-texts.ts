import { invalidFields } from '@tessera/rpc';

/** Throws InvalidArgument for a request with a NUL in a text, and names the field: Postgres has no such texts, so nothing has this name. */
export function refuseNul(request: object): void {
  const field = fieldWithNul(request, '');
  if (field === undefined) return;
  throw invalidFields([{ field, description: 'must not have the character U+0000' }]);
}

/** The first field with a NUL in its text, or in a key of it, below a path. */
function fieldWithNul(value: unknown, path: string): string | undefined {
  if (typeof value === 'string') return value.includes('\0') ? path : undefined;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return undefined;
  for (const [key, inner] of Object.entries(value as Readonly<Record<string, unknown>>)) {
    if (key.includes('\0')) return path;
    const [name, given] = isOneof(inner) ? [inner.case, inner.value] : [key, inner];
    const field = Array.isArray(value) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
    const found = fieldWithNul(given, field);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A field of a group of which one is given. */
function isOneof(value: unknown): value is { readonly case: string; readonly value: unknown } {
  return typeof value === 'object' && value !== null && 'case' in value && typeof value.case === 'string';
}
