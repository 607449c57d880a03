import { AccountProblem, type Account } from '@tessera/proto-gen/account';
import type { Session } from '@tessera/proto-gen/authorize';
import type { PersonGrant } from '@tessera/proto-gen/token';
import { rootCall, timestampMs } from '@tessera/rpc';
import { browserContext } from '../browser-context.ts';
import { describeScopes, findApplication } from '../described-application.ts';
import type { PageContext } from '../page-context.ts';
import { resultOf, type AccountContent, type AccountSection } from './sections/account-section.ts';

const access: AccountSection = {
  name: 'applications',

  async show({ context, account, session, fieldsOf }) {
    const { request, gateway } = context;
    const { tenantId, userId } = session;
    const { grants } = await gateway.peers.token.listPersonGrants(
      { tenantId, userId },
      rootCall(request.incoming.requestId),
    );
    const clientIds = [...account.consents, ...grants].map(({ clientId }) => clientId);
    const found = [...new Set(clientIds)].toSorted().map(async (clientId) => ({
      ...(await describe(context, session, clientId, accessOf(clientId, account, grants))),
      revoke: fieldsOf('revoke_access', clientId),
    }));
    return { applications: await Promise.all(found) };
  },

  confirmed: {
    revoke_access: {
      title: 'Remove the access of this application?',
      message:
        "It can no longer use your account when you're not there, and asks you again the next time you sign in to it.",
      label: 'Remove access',
      async subject({ context, account }, target) {
        const { application } = await findApplication(context, target);
        // Of another tenant nobody learns anything.
        return application?.tenantId === account.session?.tenantId ? application?.name : undefined;
      },
    },
  },

  changes: {
    async revoke_access({ app, request, gateway }, { session: { tenantId, userId }, target: clientId }) {
      if (clientId === '') return 'unknown';
      const call = () => rootCall(request.incoming.requestId);
      const { ipAddress } = request.incoming;
      // First, so that an application that asks meanwhile has to ask the person.
      const { problem } = await gateway.peers.account.revokeConsent(
        { browser: browserContext(app, request), clientId },
        call(),
      );
      // Its tokens need no consent if it is of the company itself.
      if (problem !== AccountProblem.UNSPECIFIED && problem !== AccountProblem.UNKNOWN)
        return resultOf(problem, 'access_revoked');
      const grants = { tenantId, userId, clientId, ipAddress };
      for (let more = true; more;) ({ more } = await gateway.peers.token.revokePersonGrants(grants, call()));
      return 'access_revoked';
    },
  },
};

/** The applications that may do something for a person: those that were allowed, and those that have refresh tokens. */
export const applications: AccountContent = {
  name: 'applications',
  template: 'account-applications',
  sections: [access],
};

/** What one application may do, and since when. */
interface Access {
  readonly scopes: readonly string[];
  /** Milliseconds since the Unix epoch. */
  readonly since: number | undefined;
  readonly used: number | undefined;
}

function accessOf(clientId: string, account: Account, grants: readonly PersonGrant[]): Access {
  const consents = account.consents.filter((consent) => consent.clientId === clientId);
  const families = grants.filter((grant) => grant.clientId === clientId);
  const times = [
    ...consents.map(({ grantTime }) => grantTime),
    ...families.map(({ createTime }) => createTime),
  ];
  const began = times.flatMap((time) => (time === undefined ? [] : [timestampMs(time)]));
  const used = families.flatMap(({ lastUseTime }) =>
    lastUseTime === undefined ? [] : [timestampMs(lastUseTime)],
  );
  return {
    scopes: [...new Set([...consents, ...families].flatMap(({ scopes }) => scopes))],
    since: began.length === 0 ? undefined : Math.min(...began),
    used: used.length === 0 ? undefined : Math.max(...used),
  };
}

async function describe(
  context: PageContext,
  { tenantId }: Session,
  clientId: string,
  { scopes, since, used }: Access,
) {
  const { application } = await findApplication(context, clientId);
  const own = application?.tenantId === tenantId ? application : undefined;
  return {
    name: own === undefined || own.name === '' ? clientId : own.name,
    words: own && { description: own.description, descriptions: own.descriptions },
    ...describeScopes(own, scopes),
    since,
    used,
  };
}
