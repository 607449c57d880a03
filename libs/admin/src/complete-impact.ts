import type { Ends, Impact } from '@tessera/proto-gen/impact';
import type { TokenService } from '@tessera/proto-gen/token';
import { notUnderstood, type CallOptions, type Client, type DescService } from '@tessera/rpc/caller';

type CountEnded = Pick<Client<typeof TokenService>, 'countEnded'>;
type Counts = Pick<Impact, 'sessions' | 'refreshFamilies' | 'approvals' | 'consents'>;
type Send = (request: object, call: CallOptions) => Promise<object>;

/** An impact as the directory answers it, or one that is complete. */
interface Countable extends Counts {
  readonly ends?: Ends | undefined;
}

/**
 * A client whose answers with an impact also have what the directory cannot count: sessions, refresh families,
 * waiting approvals and consents.
 */
export function completingImpact<S extends DescService>(
  service: S,
  owner: Client<S>,
  token: CountEnded,
): Client<S> {
  const sends = owner as unknown as Readonly<Record<string, Send>>;
  const completed = service.methods.map(({ methodKind, localName }) => {
    const send = sends[localName];
    if (methodKind !== 'unary' || send === undefined) return [localName, send] as const;
    const sendAndCount: Send = async (request, call) => {
      const answer: { readonly impact?: Countable } = await send(request, call);
      const { impact } = answer;
      return impact === undefined ? answer : { ...answer, impact: await completeImpact(impact, token, call) };
    };
    return [localName, sendAndCount] as const;
  });
  return Object.fromEntries(completed) as unknown as Client<S>;
}

/**
 * The impact with all that the services count. Throws `temporarily_unavailable` where one of them is of a version that
 * does not count it: what is missing would read as nothing that ends. `approvals` may be absent.
 */
export async function completeImpact<I extends Countable>(
  { ends, ...impact }: I,
  token: CountEnded,
  call: CallOptions,
): Promise<Omit<I, 'ends'> & Counts> {
  if (ends === undefined) throw notUnderstood('an impact without what it ends');
  const { sessions, refreshFamilies, approvals, consents } = await token.countEnded({ ends }, call);
  if (!sessions || !refreshFamilies || !consents) throw notUnderstood('an incomplete count of what ends');
  return { ...impact, sessions, refreshFamilies, consents, ...(approvals && { approvals }) };
}
