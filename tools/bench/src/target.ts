import type { Population } from './declared-state.ts';

/** What a driver process knows of the system it drives. */
export interface Target {
  readonly kind: 'tessera' | 'peer' | 'bare';
  readonly baseUrl: string;
  /** Seed of the secrets in the declared state. */
  readonly seed: string;
  readonly population: Population;
  /** Listener for calls and the shared token; absent in compact. */
  readonly calls?: { readonly target: string; readonly token: string };
}
