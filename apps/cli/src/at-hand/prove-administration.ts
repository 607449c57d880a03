import { z } from 'zod';
import { systemRandom, type Secret } from '@tessera/kit';
import { createChallenge, nonceHeader, proofPath, type Proof } from '@tessera/rpc/caller';
import type { Terminal } from '../terminal.ts';

/** Where a process with embedded stores is, and what it wrote beside them. */
interface Announced {
  /** `host:port` */
  readonly target: string;
  readonly token: Secret;
}

const proof = z.object({ nonce: z.string(), proof: z.string() });
const withinMs = 5_000;

/**
 * Has the process prove that it knows the token of its file, before anything secret is sent: once it has ended, a
 * process of somebody else may have the port. Resolves with the bearer token for calls to this process, which is worth
 * nothing elsewhere. Throws Error, with what to do, if it proves nothing or does not answer.
 */
export async function proveAdministration(
  { target, token }: Announced,
  terminal: Pick<Terminal, 'fetch'>,
): Promise<Secret> {
  const challenge = createChallenge(token, systemRandom);
  const answer = await asked(target, challenge.nonce, terminal);
  const bearer = answer && challenge.bearer(answer, Number(target.slice(target.lastIndexOf(':') + 1)));
  if (bearer !== undefined) return bearer;
  throw new Error(
    `what answers at ${target} does not prove that it is that process, or is of an earlier version. No credential was sent. Start the process again.`,
  );
}

/** Undefined for an answer that is no proof. */
async function asked(
  target: string,
  nonce: string,
  { fetch }: Pick<Terminal, 'fetch'>,
): Promise<Proof | undefined> {
  const headers = { [nonceHeader]: nonce };
  const signal = AbortSignal.timeout(withinMs);
  const answer = await fetch(`http://${target}${proofPath}`, {
    method: 'POST',
    headers,
    redirect: 'manual',
    signal,
  }).catch((error: unknown) => {
    throw new Error(`nothing answers at ${target}.`, { cause: error });
  });
  return proof.safeParse(await answer.json().catch(() => undefined)).data;
}
