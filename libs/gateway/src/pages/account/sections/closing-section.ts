import { AccountProblem } from '@tessera/proto-gen/account';
import { rootCall } from '@tessera/rpc';
import { browserContext } from '../../browser-context.ts';
import { resultOf, type AccountSection } from './account-section.ts';

/** Closing the account, where the tenant lets people do so. */
export const closingSection: AccountSection = {
  name: 'closing',

  show: ({ account, fieldsOf }) => ({ close: account.closable ? fieldsOf('close_account') : undefined }),

  confirmed: {
    close_account: {
      title: 'Close your account?',
      message:
        'After that you cannot sign in, and applications lose their access at once. Your administrator can restore the account within 30 days.',
      label: 'Close account',
    },
  },

  changes: {
    async close_account({ app, request, gateway }) {
      const { problem } = await gateway.peers.account.closeAccount(
        { browser: browserContext(app, request) },
        rootCall(request.incoming.requestId),
      );
      if (problem === AccountProblem.SIGN_IN_AGAIN) return { visit: 'change' };
      return problem === AccountProblem.UNSPECIFIED ? 'closed' : resultOf(problem, 'unknown');
    },
  },
};
