import { endpointPaths, otherPaths } from '@tessera/oauth';
import { postLogout } from './endpoints/logout-by-token.ts';
import { accountPage, resumeAccount, resumeLink } from './pages/account/account-page.ts';
import { activity } from './pages/account/activity-page.ts';
import { applications } from './pages/account/allowed-applications-page.ts';
import { devices } from './pages/account/devices-page.ts';
import { overview } from './pages/account/overview-page.ts';
import { profile } from './pages/account/profile-page.ts';
import { signInMethods } from './pages/account/sign-in-methods-page.ts';
import { approvalsPage, resumeApprovals } from './pages/approve/approvals-page.ts';
import { devicePage, resumeDevice } from './pages/approve/device-page.ts';
import { emailLinkPage } from './pages/links/email-link-page.ts';
import { forgottenPasswordPage } from './pages/links/forgotten-password-page.ts';
import { passwordLinkPage } from './pages/links/link-page.ts';
import { ownPasswordPage, resumeOwnPassword } from './pages/links/own-password-page.ts';
import { registrationPage } from './pages/links/registration-page.ts';
import { afterProvider } from './pages/logout/after-provider.ts';
import { logout } from './pages/logout/logout-page.ts';
import type { GatewayPageRow } from './pages/page-context.ts';
import { authorizationPage } from './pages/sign-in/authorization-endpoint.ts';
import { loginPage } from './pages/sign-in/login.ts';
import { createAnswerFromProvider } from './pages/sign-in/provider-answer.ts';

const answerFromProvider = createAnswerFromProvider({
  going: {
    account: resumeAccount,
    device: resumeDevice,
    approvals: resumeApprovals,
    password: resumeOwnPassword,
  },
  link: resumeLink,
});

const anyone = { who: 'anyone', formTarget: 'own' } as const;
const person = { who: 'person', formTarget: 'own' } as const;
const ofAccount = (label: string) => ({ ...person, navigation: { area: 'account', label } }) as const;
/** A sign-in ends at the client. */
const signIn = { ...anyone, title: 'Sign in', formTarget: 'client' } as const;
const signOut = { ...anyone, title: 'Sign out?', formTarget: 'client' } as const;

const at = otherPaths;

/** The pages of people. */
export const pageTable: readonly GatewayPageRow[] = [
  { ...signIn, path: endpointPaths.authorization, page: authorizationPage },
  { ...signIn, path: at.login, page: loginPage },
  { ...signIn, path: at.providerAnswer, page: { load: answerFromProvider } },
  { ...anyone, path: at.registration, title: 'Create an account', page: registrationPage },
  { ...anyone, path: at.forgottenPassword, title: 'Choose a new password', page: forgottenPasswordPage },
  { ...anyone, path: at.passwordLink, title: 'Choose a new password', page: passwordLinkPage },
  { ...person, path: at.emailLink, title: 'Is this your e-mail address?', page: emailLinkPage },
  { ...person, path: at.password, title: 'Change your password', page: ownPasswordPage },
  {
    ...ofAccount('Overview'),
    path: at.account,
    title: 'Your account',
    // Compatibility until 0.4: version 0.2 sends all forms of the account here.
    page: accountPage(overview, [signInMethods, devices, applications, profile]),
  },
  {
    ...ofAccount('Sign-in methods'),
    path: at.accountSignIn,
    title: 'Sign-in methods',
    page: accountPage(signInMethods),
  },
  { ...ofAccount('Devices'), path: at.accountDevices, title: 'Devices', page: accountPage(devices) },
  {
    ...ofAccount('Applications'),
    path: at.accountApplications,
    title: 'Applications',
    page: accountPage(applications),
  },
  { ...ofAccount('Activity'), path: at.accountActivity, title: 'Activity', page: accountPage(activity) },
  { ...ofAccount('Profile'), path: at.accountProfile, title: 'Profile', page: accountPage(profile) },
  { ...person, path: at.approvals, title: 'Approvals', page: approvalsPage },
  { ...anyone, path: at.device, title: 'Connect a device', page: devicePage },
  { ...signOut, path: endpointPaths.endSession, page: { load: logout, act: postLogout } },
  { ...signOut, path: at.afterProvider, page: { load: afterProvider } },
];
