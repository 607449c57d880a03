import { onSetUp } from './on-set-up.ts';
import { deviceSuite } from '../suites/decisions/device.ts';
import { deviceClientsSuite } from '../suites/decisions/device-clients.ts';
import { cibaSuite } from '../suites/decisions/ciba.ts';
import { cibaStartsSuite } from '../suites/decisions/ciba-starts.ts';
import { cibaPollsSuite } from '../suites/decisions/ciba-polls.ts';
import { deviceDecisionsSuite } from '../suites/decisions/device-decisions.ts';
import { deviceRechecksSuite } from '../suites/decisions/device-rechecks.ts';
import { cibaDecisionsSuite } from '../suites/decisions/ciba-decisions.ts';
import { webhookSuite } from '../suites/decisions/webhook.ts';
import { cibaDeliverySuite } from '../suites/decisions/ciba-delivery.ts';
import { cibaDeliveryFailuresSuite } from '../suites/decisions/ciba-delivery-failures.ts';

onSetUp((system) => {
  deviceSuite(system);
  deviceClientsSuite(system);
  cibaSuite(system);
  cibaStartsSuite(system);
  cibaPollsSuite(system);
  deviceDecisionsSuite(system);
  deviceRechecksSuite(system);
  cibaDecisionsSuite(system);
  webhookSuite(system);
  cibaDeliverySuite(system);
  cibaDeliveryFailuresSuite(system);
});
