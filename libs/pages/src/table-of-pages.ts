import type { FastifyReply } from 'fastify';
import type { NavigationItem } from './page.ts';
import type { FormTarget } from './page-headers.ts';

/** Answers a request to a page. The host makes the context, with the row in it. */
export type PageHandler<Context> = (context: Context) => Promise<FastifyReply>;

/** What the one file of a page exports. */
export interface PageFile<Context> {
  /** Shows it (GET). */
  readonly load: PageHandler<Context>;
  /** Does what its form asks (POST); a page without one has no form of its own. */
  readonly act?: PageHandler<Context>;
}

/** As the file of a page with a form, which is loaded with the first request to it (ADR 92). */
export function pageWhenAsked<Context>(
  file: () => Promise<Required<PageFile<Context>>>,
): Required<PageFile<Context>> {
  return {
    load: async (context) => (await file()).load(context),
    act: async (context) => (await file()).act(context),
  };
}

/** What the table says of a page; its file takes title and target from here, where it shows what it is for. */
export interface PageFacts<Who> {
  readonly path: string;
  /** Who may see it, in the words of the host. */
  readonly who: Who;
  readonly title: string;
  /** Where its forms may lead. */
  readonly formTarget: FormTarget;
  /** Its place beside other pages; a page without one is in no navigation. */
  readonly navigation?: { readonly area: string; readonly label: string };
}

/** The navigation of the area of a page: its pages in the order of the table. Empty for a page that is in none. */
export function navigationBeside<Who>(
  rows: readonly PageFacts<Who>[],
  here: PageFacts<Who>,
): readonly NavigationItem[] {
  const area = here.navigation?.area;
  if (area === undefined) return [];
  return rows.flatMap(({ path, navigation }) =>
    navigation?.area === area ? [{ path, label: navigation.label, isHere: path === here.path }] : [],
  );
}

/** A row of the table of pages. */
export interface PageRow<Context, Who> extends PageFacts<Who> {
  readonly page: PageFile<Context>;
}

/** A method of a path, as an HTTP server wants it. */
export interface PageMethod<Context, Who> {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly row: PageRow<Context, Who>;
  readonly handle: PageHandler<Context>;
}

/**
 * The methods of the pages of a table.
 * @param admit asked before every one of them: it resolves with what answers somebody who may not see the page, and
 * with undefined for others. Not with the answer itself: a promise of that is one of undefined, once it was sent.
 */
export function methodsOfPages<Context, Who>(
  rows: readonly PageRow<Context, Who>[],
  admit: (context: Context, who: Who) => Promise<(() => FastifyReply) | undefined>,
): PageMethod<Context, Who>[] {
  return rows.flatMap((row) => {
    const { path, who, page } = row;
    const admitted =
      (handle: PageHandler<Context>): PageHandler<Context> =>
      async (context) => {
        const refuse = await admit(context, who);
        return refuse === undefined ? handle(context) : refuse();
      };
    const shown = { method: 'GET', path, row, handle: admitted(page.load) } as const;
    return page.act === undefined
      ? [shown]
      : [shown, { method: 'POST', path, row, handle: admitted(page.act) } as const];
  });
}
