import type { JsonObject } from '@bufbuild/protobuf';
import { newPassword, untold, type Flows } from './flow.ts';
import type { Tenant } from '../tenant.ts';

const ofBrowsers: Flows = {
  async 'AuthorizeService.Begin'(tenant) {
    const { userId: hintedUserId } = await tenant.session();
    return { request: { parameters: tenant.authorization('c'.repeat(43)), hintedUserId } };
  },
  'AuthorizeService.GetInteraction': (tenant) => tenant.visit(),
  'AuthorizeService.Continue': async (tenant) => ({
    ...(await tenant.visit()),
    step: 'password',
    fields: tenant.fields,
  }),
  'AuthorizeService.ChangePassword': () => ({ presentPassword: 'not-the-password', newPassword }),
  'AuthorizeService.EndSession': async (tenant) => ({
    browser: (await tenant.signIn()).browser,
    hintedClientId: tenant.web,
    postLogoutRedirectUri: 'http://127.0.0.1:9000/callback',
  }),
  'AuthorizeService.RedeemCode': async (tenant) => ({ ...(await tenant.code()), confidential: true }),
};

const ofAccounts: Flows = {
  'AccountService.ChangeName': async (tenant) => ({ ...(await sureOf(tenant)), name: 'Ada King' }),
  'AccountService.ChangeEmail': async (tenant) => ({
    ...(await sureOf(tenant)),
    email: `${tenant.newName()}@example.com`,
    language: 'en',
  }),
  'AccountService.CloseAccount': sureOf,
  'AccountService.RenamePasskey': async (tenant) => ({
    passkeyId: (await tenant.ownPasskey()).credentialId,
    name: 'Phone',
  }),
  'AccountService.RemoveFactor': (tenant) => tenant.sureOfPasskey(),
  'AccountService.UnlinkProvider': (tenant) => tenant.sureOfProvider(),
  'AccountService.EndOwnSessions': async (tenant) => ({ sessionId: (await tenant.signIn()).sessionId }),
  'AccountService.RevokeConsent': (tenant) => tenant.consented(),
  'PersonService.GetCredentials': async (tenant) => ({ userId: (await tenant.ownPasskey()).userId }),
  'PersonService.ChangeOwnName': async (tenant) => ({ ...(await tenant.newPerson()), name: 'Ada' }),
  'PersonService.CloseOwnAccount': (tenant) => tenant.newPerson(),
  'PersonService.AnnounceSignIn': { ...untold, values: () => ({ userAgent: 'x', first: false }) },
  'PersonService.AnnounceWrongCodes': untold,
  'PersonService.ListOwnEvents': () => ({ limit: 20 }),
  'PersonService.RemoveOwnFactor': (tenant) => tenant.heldPasskey(),
  'PersonService.LinkOwnProvider': async (tenant) => ({
    ...(await tenant.newPerson()),
    issuer: tenant.providerIssuer,
    subject: tenant.newName(),
  }),
  'PersonService.UnlinkOwnProvider': async (tenant) => (await tenant.linked()).link,
  'PersonService.RenameOwnPasskey': async (tenant) => ({ ...(await tenant.ownPasskey()), name: 'Phone' }),
};

/** The browser of a new person who has just proved who they are. */
async function sureOf(tenant: Tenant): Promise<JsonObject> {
  return { browser: (await tenant.sureOfPasskey()).browser };
}

/** Sign-ins, and what people change of their accounts. */
export const flowsOfPeople: Flows = { ...ofBrowsers, ...ofAccounts };
