import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '@tessera/kit';
import { type Database } from '@tessera/stores';
import { Decision } from '@tessera/proto-gen/device';
import { Status } from '@tessera/proto-gen/directory';
import { startReceiver, type Receiver, waitFor } from '@tessera/test-kit';
import {
  codeOf,
  createWorld,
  newAddress,
  newPerson,
  startBackchannel,
  type World,
} from '../testing/world.ts';
import { createWebhookKeys } from './webhook-keys.ts';

const key = new Secret('a-webhook-key-of-at-least-32-characters');
const keys = createWebhookKeys(key);

let world: World;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
  world = await createWorld({ config: { TESSERA_WEBHOOK_KEY: key, TESSERA_ALLOW_PRIVATE: ['webhooks'] } });
  await world.directory.changeApplication('acme-hook', { ciba: { approval: 'webhook', url: receiver.url } });
});
afterAll(async () => {
  await world.service.close();
  await receiver.close();
});

/** The last of `count` posts, with what it says. */
async function notified(count = 1) {
  const last = (await receiver.gotAll(count)).at(-1);
  if (last === undefined) throw new Error('nothing was received');
  const { data } = JSON.parse(last.body) as { data: Readonly<Record<string, string>> };
  return { ...last, data };
}

/** Starts a request of the application with a webhook for somebody new. */
async function start(options: { readonly requestedExpiry?: number } = {}) {
  receiver.received.length = 0;
  const who = newPerson(world);
  const started = await startBackchannel(world, who.username, {
    clientId: 'acme-hook',
    bindingMessage: 'Order 4711',
    ...options,
  });
  return { ...started, who };
}

const tokenOf = ({ data }: Awaited<ReturnType<typeof notified>>): string =>
  new URL(data['decision_uri'] ?? '').searchParams.get('token') ?? '';

const decide = (decisionToken: string, decision: Decision = Decision.APPROVE) =>
  world.backchannel.decideByLink({ decisionToken, decision, ipAddress: newAddress() });

describe('approval by webhook', () => {
  it('sends a signed request with everything the person must see (Standard Webhooks)', async () => {
    const { who, authReqId } = await start();
    const { headers, body, data } = await notified();
    expect(data).toMatchObject({
      tenant_id: 'acme',
      client_id: 'acme-hook',
      application_name: 'The acme-hook',
      sub: who.userId,
      username: who.username,
      scope: 'openid orders.read',
      binding_message: 'Order 4711',
    });
    expect(data['decision_uri']).toMatch(/^https:\/\/id\.example\/backchannel_decision\?token=tw_/);
    const signingKey = keys.signingKey({ tenantId: 'acme', clientId: 'acme-hook' });
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const secret = Buffer.from(signingKey.slice('whsec_'.length), 'base64');
    const expected = createHmac('sha256', secret).update(signed).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${expected}`);
    expect(body).not.toContain(authReqId);
  });

  it('gives every application a signing key of its own', () => {
    const given = ['acme-hook', 'acme-bank'].map((clientId) =>
      keys.signingKey({ tenantId: 'acme', clientId }),
    );
    given.push(keys.signingKey({ tenantId: 'umbra', clientId: 'acme-hook' }));
    expect(new Set(given).size).toBe(3);
  });

  it('accepts only the canonical spelling of a link', () => {
    const token = keys.decisionToken('A'.repeat(22));
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const accepted = [...alphabet].filter((last) => keys.requestOf(token.slice(0, -1) + last) !== undefined);
    expect(accepted).toEqual([token.at(-1)]);
  });

  it('approves by link on behalf of the person, with one audit row', async () => {
    const { who, poll } = await start();
    const token = tokenOf(await notified());
    expect(await codeOf(poll())).toBe('authorization_pending');
    const before = Math.floor(Date.now() / 1000);
    await decide(token);
    const { userGrant } = await poll();
    expect(userGrant).toMatchObject({ userId: who.userId, sessionId: '' });
    expect(userGrant?.authentication?.time).toBeGreaterThanOrEqual(before);
    expect(userGrant?.authentication?.methods).toEqual([]);
    const rows = await world.audited('ciba.approved', { subject: who.userId });
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(token);
  });

  it('denies by link, and keeps the first decision', async () => {
    const { poll } = await start();
    const token = tokenOf(await notified());
    await decide(token, Decision.DENY);
    expect(await codeOf(decide(token))).toBe('invalid_request');
    await decide(token, Decision.DENY);
    expect(await codeOf(poll())).toBe('access_denied');
  });

  it('refuses a link if the application now uses another approval channel', async () => {
    const { poll } = await start();
    const token = tokenOf(await notified());
    const { ciba } = world.directory.applications.get('acme-hook') ?? {};
    await world.directory.changeApplication('acme-hook', { ciba: { approval: 'page', url: '' } });
    expect(await codeOf(decide(token))).toBe('not_found');
    expect(await codeOf(poll())).toBe('authorization_pending');
    await world.directory.changeApplication('acme-hook', { ciba: { ...ciba } });
    await decide(token);
    expect((await poll()).userGrant).toBeDefined();
  });

  it('refuses a link that was not issued for a pending request', async () => {
    const { poll, authReqId } = await start({ requestedExpiry: 1 });
    const token = tokenOf(await notified());
    const [head = '', proof = ''] = token.split('.');
    const other = createWebhookKeys(new Secret('another-key-of-at-least-32-characters')).decisionToken(
      head.slice(3),
    );
    const wrong = [
      '',
      'x',
      authReqId,
      head,
      `${head}.${'A'.repeat(43)}`,
      `tw_${'A'.repeat(22)}.${proof}`,
      other,
    ];
    for (const value of wrong) expect(await codeOf(decide(value)), value).toBe('not_found');
    await new Promise((done) => setTimeout(done, 1100));
    expect(await codeOf(decide(token))).toBe('not_found');
    expect(await codeOf(poll())).toBe('expired_token');
  });

  it('refuses approval and denies the request if the person has been locked since', async () => {
    const { who, poll } = await start();
    const token = tokenOf(await notified());
    await world.directory.changeUser(who.userId, { status: Status.LOCKED });
    expect(await codeOf(decide(token))).toBe('access_denied');
    expect(await codeOf(poll())).toBe('access_denied');
  });

  it('retries with the same id while the receiver returns errors', async () => {
    receiver.answer(503);
    const { who } = await start();
    await notified(2);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    const rows = await world.audited('ciba.notified', { subject: who.userId });
    expect(rows.map(({ reason }) => reason)).toEqual([null]);
  });

  it.each([401, 302, 404])('does not retry after status %d (CIBA-4)', async (status) => {
    receiver.answer(status);
    const { who } = await start();
    const rows = await world.audited('ciba.notified', { subject: who.userId });
    expect(rows.map(({ reason }) => reason)).toEqual([`status_${status}`]);
    expect(receiver.received).toHaveLength(1);
  });

  it('sends no notification for a locked or unknown person (CIBA-1)', async () => {
    receiver.received.length = 0;
    const who = newPerson(world);
    await world.directory.changeUser(who.userId, { status: Status.LOCKED });
    for (const hint of [who.username, 'nobody-of-that-name']) {
      await startBackchannel(world, hint, { clientId: 'acme-hook' });
    }
    await start();
    await notified();
    expect(receiver.received).toHaveLength(1);
  });

  it('sends no notification for a person without access to the application, at the start or on a retry (DEV-2)', async () => {
    receiver.received.length = 0;
    const [clerk, driver] = [newPerson(world), newPerson(world)];
    await world.directory.changeUser(clerk.userId, { roles: ['clerk'] });
    await world.directory.changeApplication('acme-hook', { allowedRoles: ['clerk'] });
    receiver.answer(503);
    for (const { username } of [driver, clerk]) {
      await startBackchannel(world, username, { clientId: 'acme-hook' });
    }
    await notified();
    await world.directory.changeUser(clerk.userId, { roles: [] });
    const rows = await world.audited('ciba.notified', { subject: clerk.userId });
    expect(rows.map(({ reason }) => reason)).toEqual(['role_missing']);
    await world.directory.changeApplication('acme-hook', { allowedRoles: [] });
    expect(receiver.received).toHaveLength(1);
  });

  it('refuses approval by link and denies the request if the person has lost the required role (DEV-2)', async () => {
    const { who, poll } = await start();
    const token = tokenOf(await notified());
    await world.directory.changeApplication('acme-hook', { allowedRoles: ['clerk'] });
    expect(await codeOf(decide(token))).toBe('access_denied');
    await world.directory.changeApplication('acme-hook', { allowedRoles: [] });
    expect(await codeOf(poll())).toBe('access_denied');
    const rows = await world.audited('ciba.denied', { subject: who.userId });
    expect(rows.map(({ reason }) => reason)).toEqual(['role_missing']);
  });

  it('is not retried if the request would expire first', async () => {
    receiver.answer(503);
    const { who } = await start({ requestedExpiry: 1 });
    const rows = await world.audited('ciba.notified', { subject: who.userId });
    expect(rows.map(({ reason }) => reason)).toEqual(['status_503']);
    expect(receiver.received).toHaveLength(1);
  });

  it('survives the end of a process before delivery', async () => {
    receiver.answer(503);
    const { who } = await start();
    await notified();
    await world.service.close();
    expect(receiver.received).toHaveLength(1);
    world = await createWorld({
      beside: world,
      config: { TESSERA_WEBHOOK_KEY: key, TESSERA_ALLOW_PRIVATE: ['webhooks'] },
    });
    await notified(2);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    const rows = await world.audited('ciba.notified', { subject: who.userId });
    expect(rows.map(({ reason }) => reason)).toEqual([null]);
  });

  it('is stored whether or not the person exists, so that both take the same time, and is then removed (ENUM-2)', async () => {
    const asked: string[] = [];
    const query: Database['query'] = (statement) => {
      asked.push(statement.name);
      return world.database.query(statement);
    };
    const recording = await createWorld({
      beside: world,
      config: { TESSERA_WEBHOOK_KEY: key, TESSERA_ALLOW_PRIVATE: ['webhooks'] },
      runtime: { database: { ...world.database, query } },
    });
    const who = newPerson(recording);
    for (const hint of [who.username, 'nobody-of-that-name']) {
      asked.length = 0;
      await startBackchannel(recording, hint, { clientId: 'acme-hook' });
      expect(asked.filter((name) => name === 'device.add_prompt')).toHaveLength(1);
    }
    await world.audited('ciba.notified', { subject: who.userId });
    const text = 'SELECT mode FROM device.delivery';
    await waitFor(async () =>
      expect((await world.database.query({ name: 'test.prompts', text })).rows).toEqual([]),
    );
    await recording.service.close();
  });

  it('refuses private addresses unless they are allowed', async () => {
    const careful = await createWorld({ beside: world, config: { TESSERA_WEBHOOK_KEY: key } });
    receiver.received.length = 0;
    const who = newPerson(world);
    await startBackchannel(careful, who.username, { clientId: 'acme-hook' });
    const rows = await careful.audited('ciba.notified', { subject: who.userId });
    expect(rows.map(({ reason }) => reason)).toEqual(['not_https']);
    expect(receiver.received).toEqual([]);
    await careful.service.close();
  });
});
