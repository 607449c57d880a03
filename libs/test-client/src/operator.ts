/**
 * Calls the administration API at a port of this machine with the token that processes share, as an operator does.
 * Resolves with the answer; throws for a status other than 200. `method` is its full name without `tessera.`.
 */
export async function callAsOperator<T>(
  port: number,
  token: string,
  method: string,
  request: object,
): Promise<T> {
  const answer = await sendAsOperator(port, token, method, request);
  if (!answer.ok) throw new Error(`${method} was answered with ${answer.status}`);
  return (await answer.json()) as T;
}

/** As `callAsOperator`, for every status. */
export async function sendAsOperator(
  port: number,
  token: string,
  method: string,
  request: object,
): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/tessera.${method}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${token}`,
      'x-tessera-caller': 'operator',
    },
    body: JSON.stringify(request),
  });
}
