import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OAuthError } from '@tessera/oauth';
import { contract, success } from '../dialects/contract.ts';
import { standard } from '../dialects/standard.ts';
import { errorHeaders, publicCode } from '../http/error-answers.ts';
import type { Gateway } from '../gateway.ts';
import { pageHeaders, type FormTarget } from '../http/headers.ts';
import { rawQuery } from '../http/query.ts';
import { developerHint } from './developer-hint.ts';
import { looksLinks } from './looks-files.ts';
import { whosePage } from './whose-page.ts';

/** A page, and the message that a JSON client gets instead. */
export interface Page {
  /** Name of the template in `views`. */
  readonly template: string;
  readonly title: string;
  /** The page in one sentence. */
  readonly message: string;
  readonly formTarget: FormTarget;
  /** Whether our script files may run on the page and call our origin. */
  readonly script?: boolean;
  /** Overrides the status of the error. */
  readonly status?: number;
  /** Id of the tenant whose page it is, and its name if it is known. */
  readonly tenant?: { readonly id: string; readonly name?: string };
  readonly data?: object;
  /** Languages that the client asked for, in order of preference (`ui_locales`, OIDC Core §3.1.2.1). */
  readonly uiLocales?: string;
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

/** Answers with a page. */
export function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  gateway: Gateway,
  page: Page,
): FastifyReply {
  pageHeaders(reply, page.formTarget, page.script);
  if (wantsHtml(request)) return sendHtml(reply, gateway, page);
  return reply
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(success({ message: page.message })));
}

/** Answers an error: with `page`, or the general error page, or in the contract's shape. */
export function sendPageError(
  request: FastifyRequest,
  reply: FastifyReply,
  gateway: Gateway,
  error: OAuthError,
  page: Page = errorPage(error, request),
): FastifyReply {
  errorHeaders(request, reply, error);
  if (page.status !== undefined) reply.code(page.status);
  pageHeaders(reply, page.formTarget, page.script);
  if (wantsHtml(request)) return sendHtml(reply, gateway, page);
  const dialect = request.incoming.isKeycloakPath ? standard : contract;
  const body = dialect.failure(publicCode(error), error.message);
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(body));
}

/** Answers with a page whatever the client accepts. */
export function sendHtmlPage(reply: FastifyReply, gateway: Gateway, page: Page): FastifyReply {
  pageHeaders(reply, page.formTarget, page.script);
  return sendHtml(reply, gateway, page);
}

/** The reply is sent once the looks are known: a handler that returns it waits for that. */
function sendHtml(reply: FastifyReply, gateway: Gateway, page: Page): FastifyReply {
  htmlOf(reply, gateway, page).then(
    (html) => reply.type('text/html; charset=utf-8').send(html),
    (error: unknown) => reply.send(error),
  );
  return reply;
}

async function htmlOf(reply: FastifyReply, gateway: Gateway, page: Page): Promise<string> {
  const { request } = reply;
  const { title, message, data } = page;
  // The path of a tenant's issuer, with which every path of a page begins.
  const base = request.incoming.tenant?.basePath ?? '';
  const { languages, templates } = gateway;
  const language = languages.of(languageOf(request, gateway, page.uiLocales));
  reply.header('content-language', language.tag);
  const id = isTrouble(reply) ? page.tenant?.id : await whosePage(request, gateway, page.tenant?.id);
  const looks = id === undefined ? undefined : await gateway.looks.of(id);
  const tenant = id === undefined ? undefined : { id, name: looks?.name ?? page.tenant?.name ?? '' };
  const links = looks && { ...looksLinks(id ?? '', looks), tosUri: looks.tosUri, policyUri: looks.policyUri };
  // An issuer of a tenant's own says by itself where its people sign in.
  const accountTenant = request.incoming.tenant === undefined ? id : undefined;
  return templates.render(
    page.template,
    { base, title, message, tenant, accountTenant, ...links, ...data },
    language,
  );
}

/** A page that says that something is unavailable, or asked too often, asks nobody else. */
function isTrouble({ statusCode }: FastifyReply): boolean {
  return statusCode === 429 || statusCode >= 500;
}

/** The language that the client asked for, or the browser (RFC 9110 §12.5.4); English if there is neither. */
export function languageOf(
  request: FastifyRequest,
  { languages }: Gateway,
  uiLocales = new URLSearchParams(rawQuery(request)).get('ui_locales') ?? '',
): string {
  const accepted =
    request.headers['accept-language'] === undefined
      ? undefined
      : request.accepts().languages([...languages.tags]);
  return languages.first(uiLocales) ?? (typeof accepted === 'string' ? accepted : 'en');
}

function errorPage(error: OAuthError, { method, incoming: { requestId } }: FastifyRequest): Page {
  const isPassing = error.status === 429 || error.status >= 500;
  return {
    template: 'error',
    title: headline(error),
    message: error.message,
    formTarget: 'own',
    data: { requestId, hint: developerHint(error.message), isRepeatable: isPassing && method === 'GET' },
  };
}

function headline(error: OAuthError): string {
  if (error.status === 404) return 'Page not found';
  if (error.status === 429) return 'Too many attempts';
  if (error.status === 503) return 'Temporarily unavailable';
  return error.status >= 500 ? 'Something went wrong' : 'This request cannot be completed';
}
