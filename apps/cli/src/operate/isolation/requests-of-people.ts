import { seen, type Browser, type Fields } from './browser.ts';
import type { Answer } from './crossing.ts';
import { all, at, cibaGrant, deviceGrant, fieldOf, said, type PublicRequest } from './public-request.ts';
import type { Party } from './party.ts';

/** What a person changes at the pages of the account, where, and what it is about. */
const accountChanges: Readonly<
  Record<string, { readonly path: string; readonly targetOf: (of: Party) => Promise<string> }>
> = {
  end_session: {
    path: at.accountDevices,
    async targetOf(of) {
      const { browser, username, password } = await of.person();
      await of.signIn(of.newBrowser(), { identifier: username, password });
      const { forms } = await browser.open(at.accountDevices);
      return forms.find(({ fields }) => fields['change'] === 'end_session')?.fields['target'] ?? '';
    },
  },
  revoke_access: {
    path: at.accountApplications,
    async targetOf(of) {
      await of.allowPartner((await of.person()).browser);
      return of.partner;
    },
  },
  link_provider: { path: at.accountSignIn, targetOf: async (of) => of.provider },
  rename_passkey: {
    path: at.accountSignIn,
    targetOf: async (of) => (await of.withPasskey()).passkey.id,
  },
  remove_passkey: {
    path: at.accountSignIn,
    targetOf: async (of) => (await of.withPasskey()).passkey.id,
  },
};

const changes = Object.entries(accountChanges).map(([change, { path, targetOf }]): PublicRequest => ({
  path,
  what: change,
  values: async (of) => ({ target: await targetOf(of) }),
  async ask(as, { target = '' }, owner, owned) {
    const whose = async (of: Party) => (change.endsWith('passkey') ? of.withPasskey() : of.person());
    const { browser, userId } = await whose(as);
    const form = { change, target, name: 'Smoke', confirmed: 'yes' };
    const page = await browser.send(path, ['account', userId, change, target], form);
    const { text } = await (await whose(owner)).browser.open(path);
    const left = text.includes(owned['target'] ?? '') ? 'the owner has it' : 'the owner has it no more';
    return all(said(browser.result), seen(page), said(left));
  },
}));

/** What polls for a decision, and who may decide, by request. */
const decided = new Map<string, { readonly poll: Fields; readonly username?: string }>();

/** Decides a request; resolves with what its client is answered, too. */
async function decide(
  browser: Browser,
  path: string,
  request: string,
  owner: Party,
  owned: Fields,
): Promise<Answer> {
  const form = { request, user_code: 'WWWW-WWWW', decision: 'approve' };
  const page = await browser.send(path, ['decide', request], form);
  const client = path === at.device ? 'tv' : 'desk';
  const polled = await owner.post(client, at.token, decided.get(owned['request'] ?? '')?.poll ?? {});
  return all(said(browser.result), seen(page), polled);
}

/** What people do with what is theirs: changes of their accounts, and decisions. */
export const requestsOfPeople: readonly PublicRequest[] = [
  ...changes,
  {
    path: at.device,
    what: 'a user code',
    values: async (of) => ({ user_code: (await of.startDevice()).userCode }),
    async ask(as, values) {
      const { browser } = await as.person();
      return seen(await browser.submit(await browser.open(at.device), 'user_code', values));
    },
  },
  {
    path: at.device,
    what: 'a decision',
    async values(of) {
      const { browser } = await of.person();
      const { deviceCode, userCode } = await of.startDevice();
      const page = await browser.submit(await browser.open(at.device), 'user_code', { user_code: userCode });
      const request = fieldOf(page.forms, 'request');
      decided.set(request, { poll: { ...deviceGrant, device_code: deviceCode } });
      return { request };
    },
    ask: async (as, { request = '' }, owner, owned) =>
      decide((await as.person()).browser, at.device, request, owner, owned),
  },
  {
    path: at.approvals,
    what: 'a decision',
    async values(of) {
      const { approvalId: request, username, authReqId } = await of.startCiba('password');
      decided.set(request, { poll: { ...cibaGrant, auth_req_id: authReqId }, username });
      return { request };
    },
    async ask(as, { request = '' }, owner, owned) {
      const own = as.id === owner.id ? decided.get(request)?.username : undefined;
      const { browser } = await as.approvalsOf({
        ...(await as.person()),
        ...(own !== undefined && { username: own }),
      });
      return decide(browser, at.approvals, request, owner, owned);
    },
  },
  {
    path: at.approvals,
    what: 'a person who is asked',
    apart: true,
    async values(of) {
      const { username, password } = await of.startCiba('password');
      return { username, password };
    },
    ask: async (as, values) => seen((await as.approvalsOf({ ...(await as.person()), ...values })).page),
  },
];
