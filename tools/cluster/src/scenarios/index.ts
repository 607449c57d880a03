import type { Scenario } from '../scenario.ts';
import { administration } from './administration.ts';
import { autoscaling } from './autoscaling.ts';
import { declaredClients } from './declared-clients.ts';
import { eviction } from './eviction.ts';
import { firstHalfHour } from './first-half-hour.ts';
import { install } from './releases/install.ts';
import { kill } from './kill.ts';
import { networkPolicies } from './network-policies.ts';
import { reinstall } from './releases/reinstall.ts';
import { restore } from './restore.ts';
import { rollback } from './releases/rollback.ts';
import { rollingUpgrade } from './releases/rolling-upgrade.ts';
import { secretRotation } from './secret-rotation.ts';
import { taintedNode } from './tainted-node.ts';
import { tenantIssuer } from './tenant-issuer.ts';

/** In the order of a run: what disturbs most comes last. */
export const scenarios: readonly Scenario[] = [
  install,
  firstHalfHour,
  administration,
  declaredClients,
  rollingUpgrade,
  eviction,
  kill,
  secretRotation,
  rollback,
  autoscaling,
  tenantIssuer,
  taintedNode,
  networkPolicies,
  reinstall,
  restore,
];
