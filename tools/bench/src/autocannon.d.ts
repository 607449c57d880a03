/** The part of autocannon that is used here; the package brings no types. */
declare module 'autocannon' {
  interface Request {
    readonly method?: string;
    readonly path?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  }

  /** One connection. */
  interface Client {
    readonly reqsMade: number;
    /** Requests per connection. */
    responseMax: number | undefined;
  }

  interface Options {
    readonly url: string;
    readonly setupClient?: (client: Client) => void;
    readonly connections: number;
    /** Seconds. */
    readonly duration?: number;
    /** Requests, instead of a duration. */
    readonly amount?: number;
    /** Milliseconds between samples, and between checks of the duration. */
    readonly sampleInt?: number;
    readonly requests?: readonly {
      setupRequest(request: Request): Request;
      onResponse(
        status: number,
        body: string,
        context: object,
        headers: Readonly<Record<string, unknown>>,
      ): void;
    }[];
  }

  interface Result {
    readonly requests: { readonly total: number; readonly sent: number };
    readonly errors: number;
  }

  export default function autocannon(options: Options): Promise<Result>;
}
