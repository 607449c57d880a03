import { AccountProblem } from '@tessera/proto-gen/account';
import { rootCall, timestampMs } from '@tessera/rpc';
import { browserContext } from '../../browser-context.ts';
import { giveSession } from '../../session.ts';
import { waitForOthers } from '../../../http/waiting-for-others.ts';
import { resultOf, type AccountSection } from './account-section.ts';

/** The providers that a person signs in with, and those that they may add. */
export const providersSection: AccountSection = {
  name: 'linkedProviders',

  show: ({ account, fieldsOf }) => ({
    linked: account.providers
      .filter(({ linkTime }) => linkTime !== undefined)
      .map(({ name, displayName, linkTime }) => ({
        name: displayName,
        since: linkTime && timestampMs(linkTime),
        unlink: fieldsOf('unlink_provider', name),
      })),
    others: account.providers
      .filter(({ linkTime }) => linkTime === undefined)
      .map(({ name, displayName }) => ({ name: displayName, link: fieldsOf('link_provider', name) })),
  }),

  confirmed: {
    unlink_provider: {
      title: 'Remove this way to sign in?',
      message:
        'You can no longer sign in with it, and you are signed out in all other browsers and applications.',
      label: 'Remove this way to sign in',
      subject: ({ account }, target) => account.providers.find(({ name }) => name === target)?.displayName,
    },
  },

  changes: {
    async link_provider({ app, request, gateway }, { session, target: provider }) {
      const resume = new URLSearchParams({ going: 'account', tenant: session.tenantId }).toString();
      const { problem, location } = await waitForOthers(request, gateway, async (options) =>
        gateway.peers.account.linkProvider(
          { browser: browserContext(app, request), provider, resume },
          options,
        ),
      );
      if (problem === AccountProblem.SIGN_IN_AGAIN) return { visit: 'change' };
      return problem === AccountProblem.UNSPECIFIED ? { location } : resultOf(problem, 'provider_linked');
    },

    async unlink_provider(context, { target: provider }) {
      const { app, request, gateway } = context;
      const { problem, session } = await gateway.peers.account.unlinkProvider(
        { browser: browserContext(app, request), provider },
        rootCall(request.incoming.requestId),
      );
      if (problem === AccountProblem.SIGN_IN_AGAIN) return { visit: 'change' };
      if (session !== undefined) await giveSession(context, session);
      return problem === AccountProblem.LAST_WAY_IN
        ? 'last_provider'
        : resultOf(problem, 'provider_unlinked');
    },
  },
};
