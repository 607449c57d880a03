import type { PersonService } from '@tessera/proto-gen/person';
import { timestampMs, type Handlers } from '@tessera/rpc';
import type { Clock } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import type { ChangeRecord } from '@tessera/directory/records';
import type { Announce } from '../mail/announce.ts';
import type { Outbox } from '../mail/outbox.ts';
import { announceSignIn } from './announce-sign-in.ts';
import { announceWrongCodes } from './announce-wrong-codes.ts';
import { closeOwnAccount } from './close-account.ts';
import { changeOwnName } from './own-name.ts';
import { noteSignIns } from './sign-ins.postgres.ts';

export interface OwnAccountCallsDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly announce: Announce;
  readonly changeRecord: ChangeRecord;
  /** Undefined if no mail is sent. */
  readonly outbox: Outbox | undefined;
  /** Called after each commit that others must hear of. */
  readonly onChange: () => void;
}

/** What people change of their accounts, and what they are told of them. */
export function ownAccountCalls({
  database,
  clock,
  announce,
  changeRecord,
  outbox,
  onChange,
}: OwnAccountCallsDeps): Pick<
  Handlers<typeof PersonService>,
  'changeOwnName' | 'closeOwnAccount' | 'announceSignIn' | 'noteSignIns' | 'announceWrongCodes'
> {
  return {
    async changeOwnName({ tenantId, userId, authTime, name, ipAddress }, { requestId }) {
      const person = { tenantId, userId, authTime };
      const changed = await changeOwnName(changeRecord, person, { name, ipAddress, requestId });
      if (changed !== 'changed') return { refusal: changed };
      onChange();
      return {};
    },

    async closeOwnAccount({ tenantId, userId, authTime, ipAddress }, { requestId }) {
      const deps = { changeRecord, announce };
      const person = { tenantId, userId, authTime };
      const closed = await closeOwnAccount(deps, person, { ipAddress, requestId });
      if (closed !== 'closed') return { refusal: closed };
      onChange();
      return {};
    },

    async announceSignIn({ tenantId, userId, ...signIn }) {
      if (outbox !== undefined)
        await announceSignIn({ database, outbox, clock }, { tenantId, userId }, signIn);
      return {};
    },

    async noteSignIns({ signIns }) {
      const noted = signIns.map(({ tenantId, userId, signInTime }) => ({
        tenantId,
        userId,
        at: signInTime === undefined ? clock.now() : timestampMs(signInTime),
      }));
      await noteSignIns(database, noted);
      return {};
    },

    async announceWrongCodes({ tenantId, userId }) {
      if (outbox !== undefined) await announceWrongCodes({ database, outbox }, { tenantId, userId });
      return {};
    },
  };
}
