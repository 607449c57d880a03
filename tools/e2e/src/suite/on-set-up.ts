import { afterAll, beforeAll, describe } from 'vitest';
import { newDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { setUps, type SetUp, type System } from '../harness/set-up.ts';
import { startSystem } from '../harness/start.ts';
import { outputSuite } from '../suites/clients/output.ts';
import { webhookKey } from '../suites/decisions/webhook.ts';

const setUp: SetUp = setUps[(process.env['TESSERA_E2E_SETUP'] ?? 'compact-embedded') as keyof typeof setUps];

/** Polls may come every second; everybody signs in, and some guess codes, from one address. */
const environment = {
  TESSERA_DEVICE_POLL_INTERVAL: '1s',
  TESSERA_LOGIN_FAILURES_PER_ADDRESS: '1000',
  TESSERA_CIBA_REQUESTS_PER_USER: '200',
  TESSERA_DEVICE_HMAC_KEY: 'e2e-device-hmac-key-0123456789-0123456789',
  TESSERA_WEBHOOK_KEY: webhookKey,
  TESSERA_ALLOW_PRIVATE: 'webhooks',
};

/**
 * Starts a system for one file of suites, on the set-up of the run, and reads at the end what its processes printed.
 */
export function onSetUp(suites: (system: () => System, setUp: SetUp) => void): void {
  let running: System | undefined;
  const system = (): System => {
    if (running === undefined) throw new Error('the system did not start');
    return running;
  };

  describe(setUp.name, () => {
    beforeAll(async () => {
      const stores =
        setUp.stores === 'real' ? { databaseUrl: await newDatabaseUrl(), redisUrl: redisUrl() } : undefined;
      running = await startSystem(setUp, { environment, ...(stores === undefined ? {} : { stores }) });
    });
    afterAll(async () => running?.stop());

    suites(system, setUp);
    outputSuite(system);
  });
}
