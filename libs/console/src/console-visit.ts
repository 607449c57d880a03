import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Language } from '@tessera/languages';
import { consolePaths } from '@tessera/oauth';
import {
  checkSentForm,
  formFields,
  readForm,
  redirectToPage,
  type Field,
  type Page,
  type PageFacts,
  type PageFile,
  type PageRow,
} from '@tessera/pages';
import type { CallOptions, Client, DescMethod, DescService } from '@tessera/rpc';
import type { ConsoleSession, Sessions } from './console-sessions.ts';
import type { SignIn } from './console-sign-in.ts';
import type { TryProvider } from './providers/try-provider.ts';

/**
 * Who may see a page: anyone, or an administrator who may call these methods to see it, and these to do what it offers.
 */
export type Who = 'anyone' | { readonly sees: readonly DescMethod[]; readonly does?: readonly DescMethod[] };

/** One request to a page, with what its handler works with. */
export interface Visit {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly row: PageFacts<Who> & Pick<ConsolePageRow, 'needsFresh'>;
  /** The value of the cookie; '' without one. */
  readonly cookie: string;
  /** The address of the console. */
  readonly origin: string;
  /** The shared issuer. */
  readonly issuer: string;
  readonly tryProvider: TryProvider;
  readonly sessions: Sessions;
  readonly signIn: SignIn;
  /** Throws Error on a page of anyone without a session. */
  readonly session: () => ConsoleSession;
  /** The administration API, with the access token of the person. */
  readonly api: <S extends DescService>(service: S) => Client<S>;
  readonly call: () => CallOptions;
  /** Whether the administration API lets the person see the page at a path of the console. */
  readonly opens: (path: string) => boolean;
  /** Whether it lets them do what the page is for, too. */
  readonly offers: (path: string) => boolean;
  /** The pages that are offered to the person and are of no record: an organization's, and those of no organization. */
  readonly pagesOf: (tenantId: string) => readonly { readonly path: string; readonly label: string }[];
  /** Asks it what the access token opens, for these three: without an answer, nothing. */
  readonly askWhatOpens: () => Promise<void>;
  /** That of the reader. */
  readonly language: () => Language;
  /** Of the languages that pages have. */
  readonly languageTags: readonly string[];
  readonly setCookie: (value: string) => void;
  readonly send: (page: Omit<Page, 'title' | 'formTarget'> & { readonly title?: string }) => FastifyReply;
}

export type ConsolePage = PageFile<Visit>;

/** A row of the table of pages. */
export interface ConsolePageRow extends PageRow<Visit, Who> {
  /** Whether it gives rights, or destroys: who has not signed in lately does so again first. */
  readonly needsFresh?: boolean;
  /** What it is called among others, where its title is a question or a whole sentence. */
  readonly label?: string;
}

/** A part of the path, decoded. */
export function param({ request }: Pick<Visit, 'request'>, name: string): string {
  return (request.params as Readonly<Record<string, string>>)[name] ?? '';
}

/** The path of a page of an organization, below the console. */
export function pathOf(tenantId: string, ...parts: readonly string[]): string {
  return ['/o', tenantId, ...parts].map((part, at) => (at === 0 ? part : encodeURIComponent(part))).join('/');
}

/** Sends the browser to another page of the console. */
export function goTo({ reply }: Pick<Visit, 'reply'>, path: string): FastifyReply {
  return redirectToPage(reply, consolePaths.base + path);
}

/** The path of this page, which says what its form acts on. */
export function here({ request }: Pick<Visit, 'request'>): string {
  const path = (request.raw.url ?? '').split('?', 1)[0] ?? '';
  return path.slice(consolePaths.base.length);
}

/** The hidden fields of the form of this page. */
export function fieldsOf(visit: Visit, others: readonly Field[] = []): Field[] {
  return formFields(visit.cookie, here(visit), others);
}

/** The fields that were sent. Throws `access_denied` unless the form is this page's and this browser's own. */
export function sentForm(visit: Visit): ReadonlyMap<string, string> {
  const form = readForm(visit.request);
  checkSentForm(visit.request, form, { browserId: visit.cookie, purpose: here(visit), issuer: visit.origin });
  return form;
}
