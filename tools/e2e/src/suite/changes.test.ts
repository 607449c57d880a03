import { onSetUp } from './on-set-up.ts';
import { backchannelLogoutSuite } from '../suites/sign-in/backchannel-logout.ts';
import { administrationSuite } from '../suites/directory/administration.ts';
import { statesSuite } from '../suites/directory/states.ts';
import { accessSuite } from '../suites/directory/access.ts';
import { accessChangesSuite } from '../suites/directory/access-changes.ts';
import { largeTokensSuite } from '../suites/tokens/large-tokens.ts';
import { tenantIssuersSuite } from '../suites/tenant-issuers/tenant-issuers.ts';

onSetUp((system, setUp) => {
  backchannelLogoutSuite(system);
  statesSuite(system);
  accessSuite(system);
  accessChangesSuite(system);
  administrationSuite(system);
  tenantIssuersSuite(system, setUp.topology);
  largeTokensSuite(system);
});
