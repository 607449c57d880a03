import { send } from '../driver/send.ts';
import type { Target } from '../target.ts';
import { get } from './requests.ts';

/** The peer's only client. */
export const mintedClient = {
  tenant: 0,
  clientId: 'bench-client',
  clientSecret: 'bench-client-secret-0123456789-0123456789',
} as const;
/** A public client of the peer: introspection is cheapest for it. */
export const publicClientId = 'bench-public';
export const peerResource = 'https://orders.example';

export const mintedKinds = [
  'ready',
  'codes',
  'refresh-tokens',
  'opaque-tokens',
  'person-tokens',
  'device-codes',
  'sessions',
] as const;
export type MintedKind = (typeof mintedKinds)[number];

export interface Minted {
  readonly value: string;
  /** Of a code. */
  readonly verifier?: string;
}

/** What the peer issues without a person. */
export async function mint(target: Target, kind: MintedKind, count: number): Promise<Minted[]> {
  const answer = await send(target.mintUrl ?? '', get(`/${kind}?count=${count}`));
  if (answer.status !== 200) throw new Error(`the peer made no ${kind}: ${answer.text}`);
  return JSON.parse(answer.text) as Minted[];
}
