import { createHash, randomBytes } from 'node:crypto';
import { parseForms } from '@tessera/test-kit/provision';
import type { Answer, Ask, HttpClient } from './http.ts';
import { setCookies } from './http.ts';

export interface Pkce {
  readonly verifier: string;
  readonly challenge: string;
}

export function newPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** The query of an authorization request for a code with PKCE; members set to undefined are omitted. */
export function authorizationQuery(request: Readonly<Record<string, string | undefined>>): string {
  const parameters: Record<string, string | undefined> = {
    response_type: 'code',
    state: 'a-state',
    code_challenge: newPkce().challenge,
    code_challenge_method: 'S256',
    ...request,
  };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
  return query.toString();
}

/** What a person signs in with, and the tenant that knows them. */
export interface Login {
  readonly tenant: string;
  readonly username: string;
  readonly password: string;
}

/** A person with a browser: keeps cookies, sends `Accept: text/html`, fills in forms. */
export class Person {
  readonly #http: HttpClient;
  readonly #headers: Readonly<Record<string, string>>;
  readonly cookies = new Map<string, string>();
  /** What they sign in with, if nothing else is said. */
  readonly login: Login;

  /** @param headers sent with every request, for example as a proxy adds them */
  constructor(http: HttpClient, login: Login, headers: Readonly<Record<string, string>> = {}) {
    this.#http = http;
    this.login = login;
    this.#headers = headers;
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#ask('GET', path, { headers });
  }

  async post(
    path: string,
    form: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return this.#ask('POST', path, { form, headers });
  }

  /** Opens the page at `path` and submits its form with `values` filled in. */
  async submit(path: string, values: Record<string, string>): Promise<Answer> {
    const page = await this.get(path);
    const [form] = parseForms(page.text, new URL(path, 'http://here.example'));
    if (form === undefined) throw new Error(`no form on the page, status ${page.status}`);
    const csrf = form.fields.get('csrf');
    if (csrf !== undefined) this.#http.seen.add(csrf);
    const action = `${form.action.pathname}${form.action.search}`;
    return this.post(action, { ...Object.fromEntries(form.fields), ...values });
  }

  /** Starts an authorization request and signs in if asked. Resolves with the redirect to the client. */
  async authorize(query: string, credentials?: Pick<Login, 'username' | 'password'>): Promise<Answer> {
    const started = await this.get(`/authorize?${query}`);
    const location = started.header('location') ?? '';
    if (!location.startsWith('/login') || credentials === undefined) return started;
    return this.submit(location, { identifier: credentials.username, password: credentials.password });
  }

  /** The header that this browser sends. */
  get cookie(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  async #ask(method: string, path: string, options: Ask): Promise<Answer> {
    const { cookie } = this;
    const answer = await this.#http.ask(method, path, {
      ...options,
      headers: {
        accept: 'text/html',
        ...(cookie === '' ? {} : { cookie }),
        ...this.#headers,
        ...options.headers,
      },
    });
    for (const { name, value, attributes } of setCookies(answer)) {
      const ended = value === '' || attributes.some((attribute) => /^max-age=0$/i.test(attribute));
      if (ended) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }
}
