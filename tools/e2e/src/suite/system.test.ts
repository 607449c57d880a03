import { afterAll, beforeAll, describe } from 'vitest';
import { newDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { setUps, type System } from '../harness/set-up.ts';
import { startSystem } from '../harness/start.ts';
import { accessSuite } from '../suites/access.ts';
import { accessChangesSuite } from '../suites/access-changes.ts';
import { authorizeSuite } from '../suites/authorize.ts';
import { authorizeExplanationsSuite } from '../suites/authorize-explanations.ts';
import { authorizeAnswersSuite } from '../suites/authorize-answers.ts';
import { clientCredentialsSuite } from '../suites/client-credentials.ts';
import { tokenRequestsSuite } from '../suites/token-requests.ts';
import { webhookKey, webhookSuite } from '../suites/webhook.ts';
import { backchannelLogoutSuite } from '../suites/backchannel-logout.ts';
import { cibaSuite } from '../suites/ciba.ts';
import { cibaStartsSuite } from '../suites/ciba-starts.ts';
import { cibaPollsSuite } from '../suites/ciba-polls.ts';
import { accessTokenShapesSuite } from '../suites/access-token-shapes.ts';
import { claimsSuite } from '../suites/claims.ts';
import { codeFlowSuite } from '../suites/code-flow.ts';
import { refreshSuite } from '../suites/refresh.ts';
import { oneTimeValuesSuite } from '../suites/one-time-values.ts';
import { deviceDecisionsSuite } from '../suites/device-decisions.ts';
import { cibaDecisionsSuite } from '../suites/ciba-decisions.ts';
import { deviceSuite } from '../suites/device.ts';
import { deviceClientsSuite } from '../suites/device-clients.ts';
import { discoverySuite } from '../suites/discovery.ts';
import { forwardAuthSuite } from '../suites/forward-auth.ts';
import { examplesSuite } from '../suites/examples.ts';
import { interoperabilitySuite } from '../suites/interoperability.ts';
import { oauth4webapiSuite } from '../suites/interoperability-oauth4webapi.ts';
import { logoutSuite } from '../suites/logout.ts';
import { outputSuite } from '../suites/output.ts';
import { racesSuite } from '../suites/races.ts';
import { resourceSuite } from '../suites/resource.ts';
import { cibaDeliverySuite } from '../suites/ciba-delivery.ts';
import { cibaDeliveryFailuresSuite } from '../suites/ciba-delivery-failures.ts';
import { signInSuite } from '../suites/sign-in.ts';
import { signInSafetySuite } from '../suites/sign-in-safety.ts';
import { tenantIssuersSuite } from '../suites/tenant-issuers.ts';
import { statesSuite } from '../suites/states.ts';
import { tokensSuite } from '../suites/tokens.ts';
import { revocationSuite } from '../suites/revocation.ts';

const setUp = setUps[(process.env['TESSERA_E2E_SETUP'] ?? 'compact-embedded') as keyof typeof setUps];

/** Polls may come every second; everybody signs in, and some guess codes, from one address. */
const environment = {
  TESSERA_DEVICE_POLL_INTERVAL: '1s',
  TESSERA_DECISIONS_PER_USER: '1000',
  TESSERA_USER_CODE_FAILURES_PER_ADDRESS: '200',
  TESSERA_LOGIN_FAILURES_PER_ADDRESS: '1000',
  TESSERA_CIBA_REQUESTS_PER_USER: '200',
  TESSERA_DEVICE_HMAC_KEY: 'e2e-device-hmac-key-0123456789-0123456789',
  TESSERA_WEBHOOK_KEY: webhookKey,
  TESSERA_WEBHOOK_ALLOW_PRIVATE: 'true',
  // This machine has other tests to run at the same time; time-outs have their own.
  TESSERA_REDIS_COMMAND_TIMEOUT: '1500ms',
  TESSERA_DATABASE_ACQUIRE_TIMEOUT: '1500ms',
  TESSERA_DATABASE_STATEMENT_TIMEOUT: '1500ms',
};

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

  discoverySuite(system);
  forwardAuthSuite(system);
  clientCredentialsSuite(system);
  tokenRequestsSuite(system);
  authorizeSuite(system);
  authorizeExplanationsSuite(system);
  authorizeAnswersSuite(system);
  signInSuite(system);
  signInSafetySuite(system);
  codeFlowSuite(system);
  refreshSuite(system);
  oneTimeValuesSuite(system);
  tokensSuite(system);
  revocationSuite(system);
  resourceSuite(system);
  accessTokenShapesSuite(system);
  claimsSuite(system);
  logoutSuite(system);
  backchannelLogoutSuite(system);
  statesSuite(system);
  accessSuite(system);
  accessChangesSuite(system);
  deviceSuite(system);
  deviceClientsSuite(system);
  cibaSuite(system);
  cibaStartsSuite(system);
  cibaPollsSuite(system);
  deviceDecisionsSuite(system);
  cibaDecisionsSuite(system);
  webhookSuite(system);
  cibaDeliverySuite(system);
  cibaDeliveryFailuresSuite(system);
  interoperabilitySuite(system);
  oauth4webapiSuite(system);
  examplesSuite(system);
  // The full two hundred rounds where the stores are real and the processes few; elsewhere enough to prove the topology.
  racesSuite(system, setUp.name === setUps.compact.name ? 200 : setUp.rpc === 'token' ? 50 : 10);
  tenantIssuersSuite(system, setUp.topology);
  outputSuite(system);
});
