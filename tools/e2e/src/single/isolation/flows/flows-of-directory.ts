import type { JsonObject } from '@bufbuild/protobuf';
import { newPassword, untold, type Flows, type Values } from './flow.ts';
import type { Tenant } from '../tenant.ts';

/** A key of the tenant. */
const keyOf: Values = async (tenant) => ({ kid: await tenant.kid() });

/** Calls on what the directory and the keys have. */
export const flowsOfDirectory: Flows = {
  'admin.KeysService.Withdraw': keyOf,
  'admin.AuditService.Search': async (tenant) => ({ about: (await tenant.newPerson()).userId }),
  'DirectoryService.VerifyApplicationSecret': {
    values: ({ secret }) => ({ clientSecret: secret }),
    known: { clientId: 'it says whose the secret must be' },
  },
  'DirectoryService.BatchGetUsers': async (tenant) => ({ userIds: [(await tenant.session()).userId] }),
  async 'DirectoryService.ReplacePassword'(tenant) {
    const presentPassword = 'slide-rule-1850-old';
    return { ...(await tenant.newPerson({ password: presentPassword })), presentPassword, newPassword };
  },
  'DirectoryService.ProposeTotp': (tenant) => tenant.proposal(),
  'DirectoryService.VerifyProposedTotp': proposedCode,
  'DirectoryService.ProposeRecoveryCodes': (tenant) => tenant.proposal(),
  'DirectoryService.AdoptProposal': async (tenant) => ({ ...(await tenant.proposal()), timeStep: '1' }),
  'DirectoryService.VerifySecondFactor': (tenant) => tenant.secondFactor(),
  'DirectoryService.ProposePasskey': async (tenant) => (await tenant.newPasskey()).proposal,
  'DirectoryService.EnrolPasskey': {
    values: async (tenant) => (await tenant.newPasskey()).enrolment,
    known: {
      'ceremony.challenge': 'authorize makes it of the visit, and says that the answer is one to it',
    },
  },
  // Whose passkey it is, it says itself.
  'DirectoryService.VerifyPasskey': async (tenant) => ({ ...(await tenant.signedByPasskey()), userId: '' }),
  'DirectoryService.GetProvider': ({ provider }) => ({ name: provider }),
  'DirectoryService.SignInWithProvider': (tenant) => ({
    issuer: tenant.providerIssuer,
    subject: tenant.newName(),
  }),
  'admin.UsersService.ResetSecondFactors': withSecondFactor,
  'admin.UsersService.DeleteCredential': [
    {
      what: 'a passkey',
      async values(tenant) {
        const { userId, credentialId: passkeyId } = await tenant.heldPasskey();
        return { userId, passkeyId };
      },
    },
    {
      what: 'a link with a provider',
      async values(tenant) {
        const { userId, provider } = (await tenant.linked()).link;
        return { userId, provider };
      },
    },
    {
      what: 'an authenticator app',
      values: async (tenant) => ({ ...(await withSecondFactor(tenant)), totp: true }),
    },
  ],
  'admin.UsersService.LockDown': withSecondFactor,
  'admin.UsersService.Unlock': withSecondFactor,
  'admin.UsersService.CreatePasswordLink': async (tenant) => ({
    ...(await tenant.newPerson()),
    purpose: 'reset',
  }),
  'admin.MailService.List': async (tenant) => ({ userId: (await tenant.waitingMail()).userId }),
  'admin.MailService.Delete': async (tenant) => ({ mailId: (await tenant.waitingMail()).mailId }),
  'DirectoryService.GetPasswordLink': async (tenant) => ({ link: await tenant.passwordLink() }),
  'DirectoryService.RedeemPasswordLink': async (tenant) => ({
    link: await tenant.passwordLink(),
    password: newPassword,
  }),
  'DirectoryService.RequestRegistration': {
    ...untold,
    values: async (tenant) => ({
      email: `gus@${tenant.id}.example`,
      interactionId: (await tenant.visit()).interactionId,
    }),
  },
  'DirectoryService.ProposeEmail': async (tenant) => ({
    ...(await tenant.newPerson()),
    email: `${tenant.newName()}@example.com`,
  }),
  'DirectoryService.SendMailCode': (tenant) => tenant.newPerson({ email: `${tenant.newName()}@example.com` }),
  'DirectoryService.RequestMailCode': untold,
  'DirectoryService.RequestPasswordReset': untold,
};

async function proposedCode(tenant: Tenant): Promise<JsonObject> {
  const proposal = await tenant.proposal();
  return { ...proposal, code: (await tenant.codeOf(proposal)).code };
}

/** A new person with an authenticator app. */
async function withSecondFactor(tenant: Tenant): Promise<JsonObject> {
  return { userId: (await tenant.secondFactor()).userId };
}
