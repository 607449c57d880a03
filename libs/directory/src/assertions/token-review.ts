import { readFile } from 'node:fs/promises';
import { temporarilyUnavailable, waitingPhase } from '@tessera/oauth';
import { NoPlaceError, type Fetch, type Places } from '@tessera/outbound';
import { addressKey } from '@tessera/stores';
import { z } from 'zod';

/** A service account's token that was verified. */
export interface Reviewed {
  readonly assertion: string;
  readonly subject: string;
  readonly audience: string;
  readonly ipAddress: string;
}

/**
 * Asks the cluster whether a token of it still counts: it ends with the pod that it is bound to. Throws
 * `temporarily_unavailable` if the cluster does not say.
 */
export type TokenReview = (reviewed: Reviewed) => Promise<boolean>;

/** So long an answer is believed. */
export const reviewedMs = 60_000;

const answers = z.object({
  status: z.object({
    authenticated: z.boolean().default(false),
    user: z.object({ username: z.string().default('') }).default({ username: '' }),
    audiences: z.array(z.string()).default([]),
  }),
});

/** TokenReview of `authentication.k8s.io/v1`, at the address of the setting alone. */
export function createTokenReview(cluster: {
  readonly address: string;
  readonly fetch: Fetch;
  readonly folder: string;
  readonly places: Places;
}): TokenReview {
  const { address, fetch, folder, places } = cluster;
  const ask = async ({ assertion, audience }: Reviewed) => {
    const own = (await readFile(`${folder}/token`, 'utf8')).trim();
    const answer = await fetch(`${address}/apis/authentication.k8s.io/v1/tokenreviews`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${own}`,
        accept: 'application/json',
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec: { token: assertion, audiences: [audience] },
      }),
    });
    // Neither its text nor that of the request is told: both have the token.
    if (answer.status !== 201 && answer.status !== 200)
      throw new Error(`the cluster answered a TokenReview with ${answer.status}`);
    return answers.parse(await answer.json()).status;
  };
  return async (reviewed) => {
    const waiting = { server: `review ${address}`, address: addressKey(reviewed.ipAddress) };
    const status = await places
      .hold(waiting, () => ask(reviewed))
      .catch((error: unknown) => {
        const refusal = temporarilyUnavailable(error);
        throw error instanceof NoPlaceError ? refusal.withRefusal({ phase: waitingPhase }) : refusal;
      });
    const { authenticated, user, audiences } = status;
    return authenticated && user.username === reviewed.subject && audiences.includes(reviewed.audience);
  };
}
