import type { Database } from '@tessera/stores';
import { liveContract } from './contract/live.ts';
import { modelContract } from './contract/model.ts';
import { raceContract } from './contract/store-races.ts';
import { recordContract } from './contract/record.ts';
import { redemptionContract } from './contract/redemption.ts';
import { revocationContract } from './contract/revoking.ts';
import { sessionFamilyContract } from './contract/session-families.ts';
import { rotationContract } from './contract/rotation.ts';

/** What the stores must do on every engine, races included. */
export function storeContract(engine: string, open: () => Promise<Database>, histories: number): void {
  rotationContract(engine, open);
  revocationContract(engine, open);
  redemptionContract(engine, open);
  sessionFamilyContract(engine, open);
  recordContract(engine, open);
  liveContract(engine, open);
  raceContract(engine, open);
  modelContract(engine, open, histories);
}
