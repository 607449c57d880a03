/** Calls the administration API of a process, as its operator. */
export interface AdminCalls {
  /** Throws for an answer other than 200. */
  call<T>(method: string, request: object): Promise<T>;
}

export function adminCalls(port: number, token: string): AdminCalls {
  return {
    async call<T>(method: string, request: object) {
      const answer = await fetch(`http://127.0.0.1:${port}/tessera.${method}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${token}`,
          'x-tessera-caller': 'operator',
        },
        body: JSON.stringify(request),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method}: ${answer.status} ${text}`);
      return JSON.parse(text) as T;
    },
  };
}

/** What calls take, in milliseconds. */
export interface Times {
  readonly median: number;
  readonly p95: number;
}

/** Makes calls one after another. */
export async function timesOf(count: number, call: (index: number) => Promise<unknown>): Promise<Times> {
  const taken: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const started = performance.now();
    await call(index);
    taken.push(performance.now() - started);
  }
  const sorted = taken.toSorted((a, b) => a - b);
  const atMost = (share: number) => sorted[Math.ceil(count * share) - 1] ?? 0;
  return { median: atMost(0.5), p95: atMost(0.95) };
}
