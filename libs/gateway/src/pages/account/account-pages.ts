import type { AccountPageName } from '../paths.ts';
import { accountPage } from './account-page.ts';
import { activity } from './activity-page.ts';
import { applications } from './allowed-applications-page.ts';
import { devices } from './devices-page.ts';
import { overview } from './overview-page.ts';
import { profile } from './profile-page.ts';
import { signInMethods } from './sign-in-methods-page.ts';

/** The pages of the account. */
export const accountPages = {
  // Compatibility until 0.4: version 0.2 sends all forms of the account here.
  overview: accountPage(overview, [signInMethods, devices, applications, profile]),
  'sign-in': accountPage(signInMethods),
  devices: accountPage(devices),
  applications: accountPage(applications),
  activity: accountPage(activity),
  profile: accountPage(profile),
} satisfies Record<AccountPageName, unknown>;
