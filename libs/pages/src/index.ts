/**
 * What pages of people and of administrators share: the frame, forms with their anti-forgery field, problems beside
 * fields, lists with search, filters and paging, pages that confirm, navigation, languages, headers, the style sheet and
 * the scripts. No framework and no build step; a page works without script. It knows no service, and holds nothing.
 *
 *     a server ─> table-of-pages (who may see it) ─> load or act of the one file of a page
 *        load ─> page (language, page-headers) ─> templates ─> ../views, and those of the host
 *        act  ─> sent-body (parse-form) ─> form-fields ─> anti-forgery; then addresses (to another page)
 *        a page with a list ─> list: what the address asks for, and the addresses of its filters and next page
 *
 * A page is one file, a template, and a row in the table of its host:
 *
 *     // pages/colors.ts
 *     export const colors: PageFile<Visit> = {
 *       load: async ({ reply, kit, frame, browserId }) => {
 *         const fields = formFields(browserId, 'colors');
 *         const page = { template: 'colors', title: 'Colors', formTarget: 'own', data: { fields } } as const;
 *         return sendHtmlOf(reply, kit, page, frame);
 *       },
 *       act: async ({ request, reply, browserId, issuer }) => {
 *         const form = readForm(request);
 *         checkSentForm(request, form, { browserId, purpose: 'colors', issuer });
 *         return redirectToPage(reply, '/colors');
 *       },
 *     };
 *
 *     // views/colors.eta
 *     <% layout('kit/layout') %>
 *     <h1><%= it.t(it.title) %></h1>
 *     <form method="post" action="<%= it.base %>/colors"><%~ include('kit/fields', it) %>...</form>
 *
 *     // the table
 *     { path: '/colors', who: 'anyone', title: 'Colors', formTarget: 'own', page: colors }
 *
 * Templates of ours are `kit/layout`, `fields`, `problem`, `list`, `time` (with the script `times.js`), `navigation` and
 * `confirm`. Sentences go through `it.t`, and are named by their English text in `libs/languages/messages`.
 */
export { redirectToPage, tooLong, withParameters } from './addresses.ts';
export { antiForgery, type AntiForgery } from './anti-forgery.ts';
export {
  antiForgeryField,
  checkSentForm,
  formFields,
  longestShown,
  shownParameter,
  type Field,
} from './form-fields.ts';
export { listAddresses, readListRequest, type Cell, type List, type ListRequest } from './list.ts';
export { longestHead } from './longest-head.ts';
export { headersOfPage, pageHeaders, type FormTarget } from './page-headers.ts';
export { languageOf, sendHtmlOf, wantsHtml, type Frame, type NavigationItem, type Page } from './page.ts';
export { addParameter, maxParameters, parseForm } from './parse-form.ts';
export { rawQuery, readQuery } from './query.ts';
export {
  bodyLimit,
  count,
  mediaType,
  readForm,
  readSentBody,
  type MediaType,
  type Readers,
  type SentBody,
} from './sent-body.ts';
export { styleSheet } from './style-sheet.ts';
export {
  methodsOfPages,
  type PageFacts,
  type PageFile,
  type PageHandler,
  type PageMethod,
  type PageRow,
} from './table-of-pages.ts';
export { loadTemplates, type Templates } from './templates.ts';
