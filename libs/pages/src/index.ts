/**
 * What pages of people and of administrators share: the frame, forms with their anti-forgery field, problems beside
 * fields, lists with search, filters and paging, pages that confirm, navigation, languages, headers, the style sheet
 * and scripts. No framework and no build step; a page works without script. It knows no service, and holds nothing.
 * `README.md` has an example.
 *
 *     a server ─> table-of-pages (who may see it) ─> load or act of the one file of a page
 *        load ─> page (language, page-headers) ─> templates ─> those of the kit, and of the host
 *        act  ─> sent-body (parse-form) ─> form-fields ─> anti-forgery; then page-addresses (to another page)
 *        a page with a list ─> list: what the address asks for, and the addresses of its filters and next page
 */
export { redirectToPage, tooLong, withParameters } from './page-addresses.ts';
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
  navigationBeside,
  pageWhenAsked,
  type PageFacts,
  type PageFile,
  type PageHandler,
  type PageMethod,
  type PageRow,
} from './table-of-pages.ts';
export { loadTemplates, type Templates } from './templates.ts';
