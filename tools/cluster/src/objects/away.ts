import { setTimeout as sleep } from 'node:timers/promises';
import { applicationObject } from '@tessera/test-client';
import { check } from '../scenario.ts';
import { becomes } from './application.ts';
import { answersSince, describeAnswers, type Client } from './client.ts';
import { builder, type Installation } from './installation.ts';

const minuteMs = 60_000;

/**
 * One client's issuer is unavailable for a minute, after the processes have forgotten its keys: that client gets 503,
 * all others what they always get.
 */
export async function issuerIsAway(installed: Installation, orders: Client): Promise<string> {
  const { stock, release, surroundings, start } = installed;
  const { otherIssuer: issuer } = surroundings;
  const service = (role: string) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: builder },
    spec: { selector: { role }, ports: [{ port: 80, targetPort: 8080 }] },
  });
  const trusts = [{ issuer, subject: 'workload' }];
  const client = await start(stock, builder, {
    issuer,
    beside: [service(builder), applicationObject(builder, { trusts })],
  });
  await becomes(stock, builder, 'True Written');
  await client.gets('200');
  await stock.apply([service('nobody')]);
  // With keys that a process has, its client is served for an hour yet.
  await release.upgrade({}, { roll: true });
  await client.gets('503');
  const [ofOrders, ofClient] = [await orders.answers(), await client.answers()];
  await sleep(minuteMs);
  const [others, own] = [await answersSince(orders, ofOrders), await answersSince(client, ofClient)];
  check(Object.keys(others).join() === '200', `others meanwhile: ${describeAnswers(others)}`);
  check(Object.keys(own).join() === '503', `its own client meanwhile: ${describeAnswers(own)}`);
  await stock.apply([service(builder)]);
  await client.gets('200');
  return `an issuer away for a minute: ${describeAnswers(own)}, others ${describeAnswers(others)}`;
}
