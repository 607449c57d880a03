import { isStorable } from '@tessera/kit';
import { invalidFields } from './errors/field-violations.ts';

/** A page of a list. */
export interface PageRequest {
  /** The key of the record that it follows; empty for the first page. */
  readonly after: string;
  /** What else was asked for; empty for all records. */
  readonly search: string;
  readonly size: number;
}

const usualSize = 50;
const largestSize = 1000;

/**
 * The page that a list request asks for (AIP-158). Throws InvalidArgument for a token of another search, or none of
 * ours.
 */
export function pageRequest({
  pageSize,
  pageToken,
  search,
}: {
  readonly pageSize: number;
  readonly pageToken: string;
  readonly search: string;
}): PageRequest {
  const size = Math.min(pageSize > 0 ? pageSize : usualSize, largestSize);
  if (pageToken === '') return { after: '', search, size };
  const [after, searched] = decode(pageToken);
  if (after === undefined)
    throw invalidFields([{ field: 'pageToken', description: 'is not a token of a page' }]);
  if (searched !== search)
    throw invalidFields([{ field: 'pageToken', description: 'belongs to another search' }]);
  return { after, search, size };
}

/**
 * The page of what a store found, if it was asked for `size` records and one more. `last` is the record that the next
 * page follows; undefined if there is none.
 */
export function pageOf<T>(
  found: readonly T[],
  { size }: Pick<PageRequest, 'size'>,
): { readonly page: T[]; readonly last: T | undefined } {
  const page = found.slice(0, size);
  return { page, last: found.length > size ? page.at(-1) : undefined };
}

/**
 * Reads page after page of a list, until there are `limit` records or no more. `isComplete`: nothing follows.
 * @param read one page: what a list request says of it, and what its answer holds
 */
export async function readPages<T>(
  read: (page: { readonly pageSize: number; readonly pageToken: string }) => Promise<{
    readonly found: readonly T[];
    readonly nextPageToken: string;
  }>,
  limit = Infinity,
): Promise<{ readonly found: T[]; readonly isComplete: boolean }> {
  const found: T[] = [];
  let next = '';
  do {
    const pageSize = Math.min(largestSize, limit - found.length);
    const page = await read({ pageSize, pageToken: next });
    found.push(...page.found);
    next = page.nextPageToken;
  } while (next !== '' && found.length < limit);
  return { found, isComplete: next === '' };
}

/** The token of the page that begins after `next`; empty without one. */
export function pageToken(next: string | undefined, { search }: Pick<PageRequest, 'search'>): string {
  return next === undefined ? '' : Buffer.from(JSON.stringify([next, search])).toString('base64url');
}

function decode(token: string): readonly (string | undefined)[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    const isPart = (part: unknown): part is string => typeof part === 'string' && isStorable(part);
    const isToken = Array.isArray(value) && value.length === 2 && value.every(isPart);
    return isToken ? value : [];
  } catch {
    return [];
  }
}
