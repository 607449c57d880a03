import { endpointPaths, otherPaths } from '@tessera/oauth';
import { pageWhenAsked } from '@tessera/pages';
import { postLogout } from './endpoints/logout-by-token.ts';
import type { AccountPageName } from './pages/paths.ts';
import { logout } from './pages/logout/logout-page.ts';
import type { GatewayPageRow, PageHandler } from './pages/page-context.ts';
import { authorizationPage } from './pages/sign-in/authorization-endpoint.ts';
import { loginPage } from './pages/sign-in/login.ts';

// What no sign-in needs is loaded with the first request to it.
const account = async () => import('./pages/account/account-page.ts');
const device = async () => import('./pages/approve/device-page.ts');
const approvals = async () => import('./pages/approve/approvals-page.ts');
const password = async () => import('./pages/links/own-password-page.ts');

let answering: PageHandler | undefined;
const answerFromProvider: PageHandler = async (context) => {
  const { createAnswerFromProvider } = await import('./pages/sign-in/provider-answer.ts');
  answering ??= createAnswerFromProvider({
    going: {
      account: async (...given) => (await account()).resumeAccount(...given),
      device: async (...given) => (await device()).resumeDevice(...given),
      approvals: async (...given) => (await approvals()).resumeApprovals(...given),
      password: async (...given) => (await password()).resumeOwnPassword(...given),
    },
    link: async (...given) => (await account()).resumeLink(...given),
  });
  return answering(context);
};

const afterProvider: PageHandler = async (context) =>
  (await import('./pages/logout/after-provider.ts')).afterProvider(context);

const anyone = { who: 'anyone', formTarget: 'own' } as const;
const person = { who: 'person', formTarget: 'own' } as const;
const ofAccount = (label: string, name: AccountPageName) =>
  ({
    ...person,
    navigation: { area: 'account', label },
    page: pageWhenAsked(async () => (await import('./pages/account/account-pages.ts')).accountPages[name]),
  }) as const;
/** A sign-in ends at the client. */
const signIn = { ...anyone, title: 'Sign in', formTarget: 'client' } as const;
const signOut = { ...anyone, title: 'Sign out?', formTarget: 'client' } as const;

const at = otherPaths;

/** The pages of people. */
export const pageTable: readonly GatewayPageRow[] = [
  { ...signIn, path: endpointPaths.authorization, page: authorizationPage },
  { ...signIn, path: at.login, page: loginPage },
  { ...signIn, path: at.providerAnswer, page: { load: answerFromProvider } },
  {
    ...anyone,
    path: at.registration,
    title: 'Create an account',
    page: pageWhenAsked(async () => (await import('./pages/links/registration-page.ts')).registrationPage),
  },
  {
    ...anyone,
    path: at.forgottenPassword,
    title: 'Choose a new password',
    page: pageWhenAsked(
      async () => (await import('./pages/links/forgotten-password-page.ts')).forgottenPasswordPage,
    ),
  },
  {
    ...anyone,
    path: at.passwordLink,
    title: 'Choose a new password',
    page: pageWhenAsked(async () => (await import('./pages/links/link-page.ts')).passwordLinkPage),
  },
  {
    ...person,
    path: at.emailLink,
    title: 'Is this your email address?',
    page: pageWhenAsked(async () => (await import('./pages/links/email-link-page.ts')).emailLinkPage),
  },
  {
    ...person,
    path: at.password,
    title: 'Change your password',
    page: pageWhenAsked(async () => (await password()).ownPasswordPage),
  },
  { ...ofAccount('Overview', 'overview'), path: at.account, title: 'Your account' },
  { ...ofAccount('Sign-in methods', 'sign-in'), path: at.accountSignIn, title: 'Sign-in methods' },
  { ...ofAccount('Devices', 'devices'), path: at.accountDevices, title: 'Devices' },
  { ...ofAccount('Applications', 'applications'), path: at.accountApplications, title: 'Applications' },
  { ...ofAccount('Activity', 'activity'), path: at.accountActivity, title: 'Activity' },
  { ...ofAccount('Profile', 'profile'), path: at.accountProfile, title: 'Profile' },
  {
    ...person,
    path: at.approvals,
    title: 'Approvals',
    page: pageWhenAsked(async () => (await approvals()).approvalsPage),
  },
  {
    ...anyone,
    path: at.device,
    title: 'Connect a device',
    page: pageWhenAsked(async () => (await device()).devicePage),
  },
  { ...signOut, path: endpointPaths.endSession, page: { load: logout, act: postLogout } },
  { ...signOut, path: at.afterProvider, page: { load: afterProvider } },
];
