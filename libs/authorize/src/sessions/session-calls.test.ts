import { SessionsService } from '@tessera/proto-gen/admin-sessions';
import { Status } from '@tessera/proto-gen/directory';
import { local, onBehalfOf, rootCall } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newPerson, redemption } from '../testing/visitor.ts';
import { createWorld, type World } from '../testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

const admin = { type: 'user', tenantId: 'ops', id: 'usr_root' } as const;
const call = () => onBehalfOf(rootCall('a-request'), admin);
const api = () => local(SessionsService, world.service, 'admin', silentLog());
const ofAda = { tenantId: 'acme', userId: 'acme-ada' };
const endAll = async (tenantId: string, userId: string) =>
  api().endSessions({ tenantId, whose: { case: 'userId', value: userId } }, call());
const endOne = async (tenantId: string, sessionId: string) =>
  api().endSessions({ tenantId, whose: { case: 'sessionId', value: sessionId } }, call());

async function signedIn() {
  const person = newPerson(world);
  const code = await person.signIn();
  const { session } = await world.gateway.getSession({ browser: person.context() });
  return { person, code, sessionId: session?.sessionId ?? '' };
}

describe('administrators', () => {
  it('see the live sessions of a person, page by page, and of the whole tenant', async () => {
    await endAll('acme', 'acme-ada');
    const some = [await signedIn(), await signedIn(), await signedIn()];
    const [first] = some;
    const ids = some.map(({ sessionId }) => sessionId);
    const found: string[] = [];
    let pageToken = '';
    do {
      const page = await api().list({ ...ofAda, pageSize: 2, pageToken }, call());
      found.push(...page.sessions.map(({ sessionId }) => sessionId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(found.toSorted()).toEqual(ids.toSorted());
    const { sessions } = await api().list({ tenantId: 'acme' }, call());
    expect(sessions.find(({ sessionId }) => sessionId === first?.sessionId)).toMatchObject({
      userId: 'acme-ada',
      username: 'ada',
      ipAddress: first?.person.ipAddress,
      userAgentHash: 'agent',
      methods: ['pwd'],
    });
    expect((await api().list({ ...ofAda, tenantId: 'umbra' }, call())).sessions).toEqual([]);
    const { nextPageToken } = await api().list({ ...ofAda, pageSize: 1 }, call());
    const foreign = { tenantId: 'acme', userId: 'acme-bob', pageToken: nextPageToken };
    await expect(api().list(foreign, call())).rejects.toThrow('belongs to another search');
  });

  it('end one session as a sign-out does, with its codes, and can repeat it', async () => {
    const { person, code, sessionId } = await signedIn();
    const other = await signedIn();
    const ended = { sessions: [{ sessionId, earlierSessionIds: [] }] };
    expect(await endOne('acme', sessionId)).toMatchObject(ended);
    expect((await world.gateway.getSession({ browser: person.context() })).session).toBeUndefined();
    await expect(world.token.redeemCode(redemption(code))).rejects.toMatchObject({ code: 'invalid_grant' });
    await expect(world.token.redeemCode(redemption(other.code))).resolves.toBeDefined();
    expect(await endOne('acme', sessionId)).toMatchObject(ended);
    const rows = (await world.audited('session.ended')).filter((row) => row['sessionId'] === sessionId);
    expect(rows).toMatchObject([
      {
        reason: 'administrator',
        subject: 'acme-ada',
        tenantId: 'acme',
        actor: admin,
        requestId: 'a-request',
      },
    ]);
  });

  it('end all sessions of a person, and of nobody else', async () => {
    const some = [await signedIn(), await signedIn()];
    const bob = newPerson(world);
    await bob.signIn({}, { identifier: 'bob' });
    const { sessions } = await endAll('acme', 'acme-ada');
    const ids = sessions.map(({ sessionId }) => sessionId);
    expect(ids).toEqual(expect.arrayContaining(some.map(({ sessionId }) => sessionId)));
    expect((await api().list(ofAda, call())).sessions).toEqual([]);
    expect((await world.gateway.getSession({ browser: bob.context() })).session).toBeDefined();
    expect((await endAll('acme', 'acme-ada')).sessions).toEqual([]);
  });

  it('reach no session of another tenant, and must say whose', async () => {
    const { person, sessionId } = await signedIn();
    await expect(endOne('umbra', sessionId)).rejects.toThrow('not_found');
    await expect(endOne('acme', 'unknown')).rejects.toThrow('not_found');
    expect((await endAll('umbra', 'acme-ada')).sessions).toEqual([]);
    await expect(endAll('acme', '')).rejects.toThrow('invalid_argument');
    await expect(api().endSessions({ tenantId: 'acme' }, call())).rejects.toThrow('invalid_argument');
    expect((await world.gateway.getSession({ browser: person.context() })).session).toBeDefined();
  });

  it('do not see a session that a change of its person has ended', async () => {
    await signedIn();
    await world.directory.changeUser('acme-ada', { status: Status.DISABLED });
    expect((await api().list(ofAda, call())).sessions).toEqual([]);
    await world.directory.changeUser('acme-ada', { status: Status.ACTIVE });
  });
});
