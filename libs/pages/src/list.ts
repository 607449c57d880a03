import { withParameters } from './page-addresses.ts';
import { shownParameter } from './form-fields.ts';

/** What a cell shows: a text, a link, or a time. A text of our own is a sentence of the languages. */
export type Cell =
  | { readonly text: string; readonly href?: string | undefined }
  | {
      readonly sentence: string;
      readonly values?: Readonly<Record<string, string | number>>;
      readonly href?: string | undefined;
      /** It is for what the page of the link does: only those see it who may do that. */
      readonly isAct?: true;
    }
  | {
      readonly time: number;
      /** It is shown as it is, and not by how long ago it was. */
      readonly isExact?: true;
    };

/** A choice that narrows a list; the address has it, so that it can be sent to somebody. */
export interface FilterChip {
  readonly label: string;
  readonly href: string;
  readonly isOn: boolean;
}

/** A list as the template `kit/list` shows it. */
export interface List {
  /** What it is a list of, for those who cannot see it. */
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** What to do where there is nothing. */
  readonly empty: string;
  readonly search?: { readonly path: string; readonly label: string; readonly value: string } | undefined;
  /** What the search form carries on. */
  readonly carried: readonly { readonly name: string; readonly value: string }[];
  readonly filters: readonly FilterChip[];
  /** The first page, where this is another. */
  readonly first?: string | undefined;
  readonly next?: string | undefined;
}

/** The parameters of a list in an address. */
const searchParameter = 'q';
const pageParameter = 'page';

/** What an address asks of a list. */
export interface ListRequest {
  /** '' for all. */
  readonly search: string;
  /** '' for the first page. */
  readonly pageToken: string;
  /** Values of the filters that the list has; '' for one that is off. */
  readonly filters: Readonly<Record<string, string>>;
}

/** Reads what an address asks of a list with these filters, each with the values that it may have. */
export function readListRequest(
  query: ReadonlyMap<string, string>,
  filters: Readonly<Record<string, readonly string[]>> = {},
): ListRequest {
  const chosen = Object.entries(filters).map(([name, values]) => {
    const value = query.get(name) ?? '';
    return [name, values.includes(value) ? value : ''] as const;
  });
  return {
    search: shownParameter(query, searchParameter).trim(),
    pageToken: query.get(pageParameter) ?? '',
    filters: Object.fromEntries(chosen),
  };
}

/**
 * The addresses of a list: the next page keeps search and filters; another filter or search begins at the first page.
 * @param labels what each value of each filter is called
 */
export function listAddresses(
  path: string,
  { search, pageToken, filters }: ListRequest,
  nextPageToken: string,
  labels: Readonly<Record<string, Readonly<Record<string, string>>>> = {},
): Pick<List, 'first' | 'next' | 'filters' | 'carried'> {
  const at = (changed: Readonly<Record<string, string>>) =>
    withParameters(path, { [searchParameter]: search, ...filters, ...changed });
  return {
    first: pageToken === '' ? undefined : at({}),
    next: nextPageToken === '' ? undefined : at({ [pageParameter]: nextPageToken }),
    filters: Object.entries(labels).flatMap(([name, ofValues]) =>
      Object.entries(ofValues).map(([value, label]) => {
        const isOn = filters[name] === value;
        return { label, isOn, href: at({ [name]: isOn ? '' : value }) };
      }),
    ),
    carried: Object.entries(filters)
      .filter(([, value]) => value !== '')
      .map(([name, value]) => ({ name, value })),
  };
}
