import { Agent, request as httpRequest } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
  /** The body parsed as JSON; throws when it is not. */
  json(): Record<string, unknown>;
  header(name: string): string | undefined;
}

export interface Ask {
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  /** Raw body with its own content type in `headers`. */
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly basic?: readonly [string, string];
}

const secretFields = [
  'accessToken',
  'refreshToken',
  'idToken',
  'access_token',
  'refresh_token',
  'id_token',
  'device_code',
  'user_code',
  'auth_req_id',
];

/** Bytes of the head of an answer: a redirect may carry a token on. */
const longestHead = 64 * 1024;

/** Requests per connection, if requests are to be spread over replicas. */
const requestsOfConnection = 50;

export interface HttpClientOptions {
  /**
   * `fifo` uses the connection that was idle longest and opens new ones regularly, so that requests are spread over all
   * replicas, restarted ones included.
   */
  readonly scheduling?: 'lifo' | 'fifo';
  /** At most; default 64. */
  readonly connections?: number;
  /** How long to wait for an answer; default 30 s. */
  readonly timeoutMs?: number;
  /** Whether secret values are remembered; default yes. A load of millions of requests does not. */
  readonly remembers?: boolean;
}

/** There was no answer in time. */
export class NoAnswerError extends Error {}

/** An HTTP/1.1 client that remembers every secret value that it sent or received. */
export class HttpClient {
  readonly #agent: Agent;
  readonly #baseUrl: () => string;
  readonly #isSpread: boolean;
  readonly #timeoutMs: number;
  readonly #remembers: boolean;
  #asked = 0;
  /** Every code, token and cookie value seen. */
  readonly seen = new Set<string>();

  constructor(
    baseUrl: () => string,
    { scheduling = 'lifo', connections = 64, timeoutMs = 30_000, remembers = true }: HttpClientOptions = {},
  ) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections, scheduling });
    this.#baseUrl = baseUrl;
    this.#isSpread = scheduling === 'fifo';
    this.#timeoutMs = timeoutMs;
    this.#remembers = remembers;
  }

  async ask(method: string, path: string, options: Ask = {}): Promise<Answer> {
    const headers: Record<string, string> = { ...options.headers };
    let body: string | Buffer | undefined = options.body;
    if (options.json !== undefined) {
      headers['content-type'] ??= 'application/json';
      body = JSON.stringify(options.json);
    } else if (options.form !== undefined) {
      headers['content-type'] ??= 'application/x-www-form-urlencoded';
      body = new URLSearchParams(options.form).toString();
    }
    if (options.basic !== undefined) {
      const [id, secret] = options.basic.map((part) => encodeURIComponent(part));
      headers['authorization'] = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
    }
    this.#asked += 1;
    if (this.#isSpread && this.#asked % requestsOfConnection === 0) headers['connection'] = 'close';
    if (body !== undefined) headers['content-length'] = String(Buffer.byteLength(body));
    const answer = await this.#send(method, new URL(path, this.#baseUrl()), headers, body);
    if (this.#remembers) this.#remember(answer);
    return answer;
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(method: string, url: URL, headers: Record<string, string>, body?: string | Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(
        url,
        { method, headers, agent: this.#agent, timeout: this.#timeoutMs, maxHeaderSize: longestHead },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.on('error', reject);
          incoming.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            resolve({
              status: incoming.statusCode ?? 0,
              headers: incoming.headers,
              text,
              json: () => JSON.parse(text) as Record<string, unknown>,
              header: (name) => {
                const value = incoming.headers[name.toLowerCase()];
                return Array.isArray(value) ? value.join(', ') : value;
              },
            });
          });
        },
      );
      outgoing.on('timeout', () =>
        outgoing.destroy(new NoAnswerError(`no answer within ${this.#timeoutMs} ms`)),
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }

  #remember(answer: Answer): void {
    const location = answer.header('location');
    const code = location === undefined ? null : new URL(location, 'http://x').searchParams.get('code');
    if (code !== null) this.seen.add(code);
    for (const cookie of setCookies(answer)) if (cookie.value.length >= 16) this.seen.add(cookie.value);
    if (!(answer.header('content-type') ?? '').includes('json')) return;
    const parsed = answer.json();
    const data = typeof parsed['data'] === 'object' && parsed['data'] !== null ? parsed['data'] : {};
    for (const [name, value] of Object.entries({ ...parsed, ...data })) {
      if (secretFields.includes(name) && typeof value === 'string') this.seen.add(value);
    }
  }
}

export interface SetCookie {
  readonly name: string;
  readonly value: string;
  readonly attributes: readonly string[];
}

export function setCookies(answer: Answer): SetCookie[] {
  const raw = answer.headers['set-cookie'];
  const lines = raw === undefined ? [] : Array.isArray(raw) ? (raw as readonly string[]) : [raw as string];
  return lines.map((line) => {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
    const at = pair.indexOf('=');
    return { name: pair.slice(0, at), value: pair.slice(at + 1), attributes };
  });
}
