import { createHmac } from 'node:crypto';
import { parseForms } from '@tessera/test-kit/provision';
import type { Answer } from './http.ts';
import type { Login, Person } from './person.ts';

/** A person at the pages of the device flow and of CIBA. */
export type DecisionWord = 'approve' | 'deny';

type Fields = ReadonlyMap<string, string>;

interface PageForm {
  readonly action: string;
  readonly fields: Fields;
}

/** The forms of a page. */
export function formsOf(answer: Answer): PageForm[] {
  return parseForms(answer.text, new URL('http://here.example/')).map(({ action, fields }) => ({
    action: `${action.pathname}${action.search}`,
    fields,
  }));
}

/** Submits the form that has `field` and follows redirects. */
export async function fillIn(
  person: Person,
  page: Answer,
  field: string,
  values: Readonly<Record<string, string>>,
): Promise<Answer> {
  const form = formsOf(page).find(({ fields }) => fields.has(field));
  if (form === undefined) throw new Error(`no form with ${field} on the page, status ${page.status}`);
  const answer = await person.post(form.action, { ...Object.fromEntries(form.fields), ...values });
  const location = answer.header('location');
  return location === undefined ? answer : person.get(location);
}

/**
 * Enters a user code and signs in if asked. Resolves with the page that asks for the decision, or with the error page.
 */
export async function openDevice(
  person: Person,
  userCode: string,
  credentials: Login = person.login,
): Promise<Answer> {
  const page = await fillIn(person, await person.get('/device'), 'user_code', { user_code: userCode });
  return signInWhereAsked(person, page, credentials);
}

/** Opens `/approvals` and signs in if asked. */
export async function openApprovals(person: Person, credentials: Login = person.login): Promise<Answer> {
  return signInWhereAsked(person, await person.get(`/approvals?tenant=${credentials.tenant}`), credentials);
}

async function signInWhereAsked(person: Person, page: Answer, credentials: Login): Promise<Answer> {
  if (!page.text.includes('name="password"')) return page;
  const { username: identifier, password } = credentials;
  return fillIn(person, page, 'password', { identifier, password });
}

export async function decideDevice(
  person: Person,
  userCode: string,
  decision: DecisionWord,
  credentials?: Login,
): Promise<Answer> {
  return fillIn(person, await openDevice(person, userCode, credentials), 'request', { decision });
}

/** Decides the request that has this binding message, or the only one. */
export async function decideCiba(
  person: Person,
  decision: DecisionWord,
  bindingMessage?: string,
  credentials?: Login,
): Promise<Answer> {
  const page = await openApprovals(person, credentials);
  const requestId = requestIds(page, bindingMessage)[0];
  if (requestId === undefined) throw new Error(`nothing waits, status ${page.status}`);
  return submitDecision(person, '/approvals', requestId, decision);
}

/** The requests on the page `/approvals`, those with a binding message or all. */
export function requestIds(page: Answer, bindingMessage?: string): string[] {
  return page.text
    .split('<li id="request-')
    .slice(1)
    .filter((part) => bindingMessage === undefined || part.includes(bindingMessage))
    .map((part) => part.slice(0, part.indexOf('"')));
}

/** The anti-forgery field of a form in this browser, even of one that no page showed. */
export function antiForgeryToken(person: Person, purpose: string): string {
  const browserId = person.cookies.get('tessera_browser') ?? '';
  return createHmac('sha256', browserId).update(`csrf\0${purpose}`).digest('base64url');
}

/** Posts a decision as a page in this browser would, even for a request that no page showed. */
export async function submitDecision(
  person: Person,
  path: '/device' | '/approvals',
  requestId: string,
  decision: string,
): Promise<Answer> {
  const csrf = antiForgeryToken(person, `decide\0${requestId}`);
  const answer = await person.post(path, { request: requestId, user_code: 'WWWW-WWWW', decision, csrf });
  const location = answer.header('location');
  return location === undefined ? answer : person.get(location);
}

/** The request id in the form of a confirmation page. */
export function formRequestId(page: Answer): string {
  const id = formsOf(page)
    .map(({ fields }) => fields.get('request'))
    .find((value) => value !== undefined);
  if (id === undefined) throw new Error(`no request on the page, status ${page.status}`);
  return id;
}
