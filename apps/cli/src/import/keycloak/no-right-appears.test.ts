import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { migrations as directoryMigrations } from '@tessera/directory';
import { newDatabaseUrl, runsEverything } from '@tessera/test-kit';
import { arrivedIn, arrivedOf } from '../../testing/arrived.ts';
import { generatedRealm } from '../../testing/generated-realm.ts';
import { moved } from '../../testing/moved-realm.ts';
import { pepper, printed } from '../../testing/run-command.ts';
import type { Node } from '../../testing/values-in-export.ts';
import { widerRights } from '../../testing/wider-rights.ts';

it('no right appears that a client or a person did not have, whatever the realm', () => {
  fc.assert(
    fc.property(generatedRealm, (realm) => {
      const { records, toDo = [], leftOut } = moved(realm);
      const applications = new Map(records.applications.map((each) => [each['clientId'], each]));
      for (const { clientId, enabled = true } of realm.clients) {
        const after = applications.get(clientId);
        if (after === undefined) {
          expect(leftOut).toContainEqual(expect.stringMatching(`^application ${clientId}: `));
          continue;
        }
        const { disabledFor = [] } = toDo.find((each) => each.clientId === clientId) ?? {};
        const wasDisabled = !enabled || realm.enabled === false;
        expect(after['status'] === 'disabled').toBe(wasDisabled || disabledFor.length > 0);
      }
      expect(widerRights(realm, arrivedOf({ ...records, users: [...records.users] }))).toEqual([]);
    }),
    { numRuns: runsEverything ? 1000 : 100 },
  );
});

describe('no right appears in a tenant, as its records are read back', () => {
  const environment = { DATABASE_URL: '', TESSERA_DIRECTORY_PEPPER: pepper };
  let next = 0;
  beforeAll(async () => {
    environment.DATABASE_URL = await newDatabaseUrl(directoryMigrations);
  });
  // A thousand realms in one test would exceed its time limit.
  const parts = Array.from({ length: runsEverything ? 20 : 1 }, (_, part) => part + 1);
  it.each(parts)('of realms of part %i', async () => {
    const run = async (words: string, input = '') =>
      printed(`${words} --direct`, environment, undefined, input);
    await fc.assert(
      fc.asyncProperty(generatedRealm, async (generated) => {
        const tenant = `realm-${(next += 1)}`;
        // A client ID is there once in an installation.
        const text = JSON.stringify(generated).replaceAll(/"(web|api|tv)"/g, `"$1-${next}"`);
        const issuer = `https://sso.example/realms/${tenant}`;
        const { code, said } = await run(`import keycloak - --tenant ${tenant} --issuer ${issuer}`, text);
        expect([code, said.match(/^left out: .*nobody knows.*/gm)], said).toEqual([0, null]);
        const { out } = await run(`get --tenant ${tenant}`);
        const arrived = await arrivedIn(environment.DATABASE_URL, tenant, out);
        expect(widerRights(JSON.parse(text) as Node, arrived)).toEqual([]);
      }),
      { numRuns: runsEverything ? 50 : 10 },
    );
  });
});
