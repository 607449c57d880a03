import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OAuthError } from '@tessera/oauth';
import {
  pageHeaders,
  sendHtmlOf,
  wantsHtml,
  type Frame,
  type NavigationItem,
  type Page as AnyPage,
} from '@tessera/pages';
import { contract, success } from '../dialects/contract.ts';
import { standard } from '../dialects/standard.ts';
import { errorHeaders, publicCode } from '../http/error-answers.ts';
import type { Gateway } from '../gateway.ts';
import { developerHint, refusedForPeople } from './developer-hint.ts';
import { looksLinks } from './looks-files.ts';
import { whosePage } from './whose-page.ts';

/** A page, and the message that a JSON client gets instead. */
export interface Page extends AnyPage {
  readonly message: string;
  /** Overrides the status of the error. */
  readonly status?: number;
  /** Id of the tenant whose page it is, and its name if it is known. */
  readonly tenant?: { readonly id: string; readonly name?: string };
  /** The pages beside it. */
  readonly navigation?: readonly NavigationItem[];
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
  frameOf(reply, gateway, page)
    .then((frame) => sendHtmlOf(reply, gateway, page, frame))
    .catch((error: unknown) => reply.send(error));
  return reply;
}

interface GatewayFrame extends Frame {
  /** Where people of the tenant sign in, if the issuer does not say it. */
  readonly accountTenant?: string | undefined;
  /** What new passwords must have, in characters; 0 if it is not known. */
  readonly passwordMinLength?: number;
}

/** What is around a page: the path of the issuer, and the looks of the tenant whose page it is. */
async function frameOf(
  reply: FastifyReply,
  gateway: Gateway,
  { tenant, navigation }: Page,
): Promise<GatewayFrame> {
  const { request } = reply;
  const base = request.incoming.tenant?.basePath ?? '';
  const id = isTrouble(reply) ? tenant?.id : await whosePage(request, gateway, tenant?.id);
  if (id === undefined) return { base, navigation };
  const looks = await gateway.looks.of(id);
  // An issuer of a tenant's own says by itself where its people sign in.
  const accountTenant = request.incoming.tenant === undefined ? id : undefined;
  const named = { base, navigation, accountTenant, tenant: { id, name: looks?.name ?? tenant?.name ?? '' } };
  if (looks === undefined) return named;
  const { tosUri, policyUri, passwordMinLength } = looks;
  return { ...named, ...looksLinks(id, looks), tosUri, policyUri, passwordMinLength };
}

/** A page that says that something is unavailable, or asked too often, asks nobody else. */
function isTrouble({ statusCode }: FastifyReply): boolean {
  return statusCode === 429 || statusCode >= 500;
}

function errorPage(error: OAuthError, { method, incoming: { requestId } }: FastifyRequest): Page {
  const hint = developerHint(error.message);
  const isPassing = error.status === 429 || error.status >= 500;
  return {
    template: 'error',
    title: headline(error),
    message: error.message,
    formTarget: 'own',
    data: {
      requestId,
      ...(hint !== undefined && { message: refusedForPeople, refusal: error.message, hint }),
      isRepeatable: isPassing && method === 'GET',
    },
  };
}

function headline(error: OAuthError): string {
  if (error.status === 404) return 'Page not found';
  if (error.status === 429) return 'Too many attempts';
  if (error.status === 503) return 'Temporarily unavailable';
  return error.status >= 500 ? 'Something went wrong' : 'This request cannot be completed';
}

/** What a page says of an error: of a lock, for how long. A client that reads JSON has the time in `Retry-After`. */
export function problemSentence({ code, message, retryAfterSeconds }: OAuthError): string {
  if (code !== 'rate_limited' || retryAfterSeconds === undefined) return message;
  const minutes = Math.ceil(retryAfterSeconds / 60);
  return minutes > 1
    ? `Too many attempts. Try again in ${minutes} minutes.`
    : 'Too many attempts. Try again in a minute.';
}
