import type { Authority } from '@tessera/test-kit/certificates';
import type { Namespace } from './kubernetes.ts';
import type { Load } from './load.ts';
import type { PodLogs } from './logs.ts';
import type { Release, Topology } from './release.ts';
import type { StoreImages } from './stores.ts';

/** What a scenario works with. */
export interface Stage {
  readonly on: Namespace;
  readonly release: Release;
  readonly load: Load;
  readonly authority: Authority;
  readonly image: string;
  readonly stores: StoreImages;
  /** A file with values that this cluster needs. */
  readonly valuesFile: string | undefined;
  /** Of every pod since the beginning, also of those that are gone. */
  readonly logs: PodLogs;
  /** The node that may be tainted, if one was named. */
  readonly node: string | undefined;
}

export interface Scenario {
  /** As in the table and in `--only`. */
  readonly name: string;
  /** The topologies it makes sense in; default: both. */
  readonly topologies?: readonly Topology[];
  /**
   * `none`: every request gets the expected answer. `until it recovers`: requests may fail during the scenario, and
   * none of the hundred after it.
   */
  readonly errors: 'none' | 'until it recovers';
  /**
   * Resolves with a remark for the table, if it has one. Throws when what it checks does not hold, and
   * `NotPossibleHere` when the cluster lacks something.
   */
  run(stage: Stage): Promise<string | void>;
}

/** The cluster lacks what the scenario needs; the message says what. */
export class NotPossibleHere extends Error {}

export function check(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}
