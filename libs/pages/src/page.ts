import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Languages } from '@tessera/languages';
import { pageHeaders, type FormTarget } from './page-headers.ts';
import { rawQuery } from './query.ts';
import type { Templates } from './templates.ts';

/** A page. */
export interface Page {
  /** Name of the template in the folder of the host, without `.eta`. */
  readonly template: string;
  readonly title: string;
  /** The page in one sentence. */
  readonly message?: string;
  readonly formTarget: FormTarget;
  /** Whether our script files may run on the page and call our origin. */
  readonly script?: boolean;
  readonly data?: object;
  /** Languages that the client asked for, in order of preference (`ui_locales`, OIDC Core §3.1.2.1). */
  readonly uiLocales?: string;
}

/** What is around a page, the same for all of a visit. */
export interface Frame {
  /** The path with which every path of ours begins; empty at the root. */
  readonly base: string;
  /** Beside the brand; the tenant's name, where there is one. */
  readonly tenant?: { readonly id: string; readonly name: string } | undefined;
  /** Whom the page is about, where the product's own name is the brand. */
  readonly organization?: string | undefined;
  readonly tenantStyle?: string | undefined;
  readonly tenantLogo?: string | undefined;
  readonly tosUri?: string | undefined;
  readonly policyUri?: string | undefined;
  /** The pages beside this one, in their order. */
  readonly navigation?: readonly NavigationItem[] | undefined;
  /** Files that run on each page of the host that has a navigation. */
  readonly scripts?: readonly string[] | undefined;
  /** Whether the reader may see the page at a path of ours; absent where everybody may. */
  readonly opens?: (path: string) => boolean;
  /** Whether the reader may do what it is for, too. */
  readonly offers?: (path: string) => boolean;
}

export interface NavigationItem {
  /** A path of ours. */
  readonly path: string;
  /** A sentence of the languages. */
  readonly label: string;
  readonly isHere: boolean;
  /** What opens it where scripts run (`aria-keyshortcuts`). */
  readonly keys?: string | undefined;
}

/** What a host of pages has made once. */
export interface PageKit {
  readonly templates: Templates;
  readonly languages: Languages;
}

/** Answers with the HTML of a page. */
export function sendHtmlOf(
  reply: FastifyReply,
  { templates, languages }: PageKit,
  page: Page,
  frame: Frame,
): FastifyReply {
  const { template, title, message = '', formTarget, script, data, uiLocales } = page;
  pageHeaders(reply, formTarget, script);
  const language = languages.of(languageOf(reply.request, languages, uiLocales));
  const html = templates.render(template, { ...frame, title, message, ...data }, language);
  return reply.header('content-language', language.tag).type('text/html; charset=utf-8').send(html);
}

/**
 * Whether the client prefers HTML (RFC 9110 §12.5.1). A client that takes anything gets HTML only if it is a browser
 * that opens a page, which `Sec-Fetch-Mode` says (Fetch Metadata).
 */
export function wantsHtml(request: FastifyRequest): boolean {
  const navigates = request.headers['sec-fetch-mode'] === 'navigate';
  const offered = navigates ? ['text/html', 'application/json'] : ['application/json', 'text/html'];
  return request.accepts().type(offered) === 'text/html';
}

/** The language that the client asked for, or the browser (RFC 9110 §12.5.4); English if there is neither. */
export function languageOf(
  request: FastifyRequest,
  languages: Languages,
  uiLocales = new URLSearchParams(rawQuery(request)).get('ui_locales') ?? '',
): string {
  const accepted =
    request.headers['accept-language'] === undefined
      ? undefined
      : request.accepts().languages([...languages.tags]);
  return languages.first(uiLocales) ?? (typeof accepted === 'string' ? accepted : 'en');
}
