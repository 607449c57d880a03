import { AuditService } from '@tessera/proto-gen/admin-audit';
import { MailService } from '@tessera/proto-gen/admin-mail';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { readQuery, type List } from '@tessera/pages';
import { timestampFromMs } from '@tessera/rpc';
import { shortList, timeOrNone } from '../cells.ts';
import { keysOf, keyStates } from './keys/keys-page.ts';
import { saidOfPart } from '../shown-refusals.ts';
import { nameOf } from '../shown-person.ts';
import { param, pathOf, type ConsolePage, type Visit } from '../console-visit.ts';
import { signIns, tokens, type Activity } from './trail/activity-plots.ts';
import { clientCell, eventCell, outcomeCell, subjectCell } from './trail/event-words.ts';

const shown = 5;
/** Failed sign-ins among which those of providers are looked for. */
const lookedThrough = 1000;
/** For which a provider is to blame. */
const failures: ReadonlySet<string> = new Set(['provider_unreachable', 'provider_invalid']);
const dayMs = 86_400_000;

/**
 * What waits in an organization, and what is wrong. It is for who may see people; what of the rest somebody may not
 * see is said in the words of the API.
 */
export const homePage: ConsolePage = {
  load: async (visit) => {
    const tenantId = param(visit, 'tenant');
    const by = readQuery(visit.request).get('by') === 'day' ? 'day' : 'hour';
    const keysPath = pathOf(tenantId, 'keys');
    const [signedIn, issued, invited, locked, mail, providers, refusals, keys] = await Promise.all([
      signIns(visit, by).catch((error: unknown) => saidOfPart(error)),
      tokens(visit, by).catch((error: unknown) => saidOfPart(error)),
      people(visit, 'Invited, and not here yet', { invited: true }),
      people(visit, 'Locked by an administrator', { status: 'locked' }),
      unsentMail(visit).catch((error: unknown) => saidOfPart(error)),
      failingProviders(visit).catch((error: unknown) => saidOfPart(error)),
      lastRefusals(visit).catch((error: unknown) => saidOfPart(error)),
      visit.opens(keysPath) ? signingKeys(visit).catch((error: unknown) => saidOfPart(error)) : undefined,
    ]);
    // The API has answered: they may know this organization.
    const organization = await visit.signIn.nameOf(tenantId, visit.call());
    const [all, trail] = [pathOf(tenantId, 'people'), pathOf(tenantId, 'audit')];
    const sections = [
      { title: invited.caption, list: invited, all: `${all}?invited=yes` },
      { title: locked.caption, list: locked, all: `${all}?status=locked` },
      { title: 'Mail that could not be sent yet', ...shownOrRefused(mail) },
      {
        title: 'Providers that failed in the last day',
        ...shownOrRefused(providers),
        all: `${trail}?event=auth.login.failed`,
      },
      ...(keys === undefined ? [] : [{ title: 'Signing keys', ...shownOrRefused(keys), all: keysPath }]),
      {
        title: 'The last refusals',
        ...shownOrRefused(refusals),
        all: `${trail}?outcome=failure`,
      },
    ];
    const path = pathOf(tenantId);
    const activities = [
      { title: 'Sign-ins', ...countedOrRefused(signedIn) },
      { title: 'Tokens', ...countedOrRefused(issued) },
    ];
    return visit.send({
      template: 'home',
      data: {
        organization,
        sections,
        activities,
        by,
        home: path,
        path: `${path}/why`,
        reference: '',
      },
    });
  },
};

const shownOrRefused = (found: List | string) =>
  typeof found === 'string' ? { refusal: found } : { list: found };

const countedOrRefused = (counted: Activity | string) =>
  typeof counted === 'string' ? { refusal: counted } : counted;

async function people(
  visit: Visit,
  caption: string,
  which: { readonly invited?: boolean; readonly status?: string },
): Promise<List> {
  const tenantId = param(visit, 'tenant');
  const request = { tenantId, pageSize: shown, ...which };
  const { users } = await visit.api(UsersService).list(request, visit.call());
  const rows = users.map((user) => [
    { text: nameOf(user), href: pathOf(tenantId, 'people', user.userId) },
    { text: user.username },
  ]);
  return shortList(caption, ['Name', 'User name'], rows, 'Nobody.');
}

async function unsentMail(visit: Visit): Promise<List> {
  const request = { tenantId: param(visit, 'tenant'), state: 'failed', pageSize: shown };
  const { mail } = await visit.api(MailService).list(request, visit.call());
  const rows = mail.map(({ username, kind, lastError }) =>
    [username, kind, lastError].map((text) => ({ text })),
  );
  return shortList('Mail that could not be sent yet', ['To', 'Kind', 'Why'], rows, 'None.');
}

async function lastRefusals(visit: Visit): Promise<List> {
  const tenantId = param(visit, 'tenant');
  const request = { tenantId, outcome: 'failure', pageSize: shown };
  const { events } = await visit.api(AuditService).search(request, visit.call());
  const rows = events.map((event) => [
    timeOrNone(event.time),
    eventCell(event),
    outcomeCell(event, tenantId),
    subjectCell(event, tenantId),
    clientCell(event, tenantId),
  ]);
  const columns = ['When', 'What', 'Outcome', 'Person', 'Application'];
  return shortList('The last refusals', columns, rows, 'None.');
}

/** Sign-ins of the last day that a provider could not complete, each provider once with the last of them. */
async function failingProviders(visit: Visit): Promise<List> {
  const tenantId = param(visit, 'tenant');
  const { events, nextPageToken } = await visit.api(AuditService).search(
    {
      tenantId,
      event: 'auth.login.failed',
      startTime: timestampFromMs(Date.now() - dayMs),
      pageSize: lookedThrough,
    },
    visit.call(),
  );
  const failed = events.filter(({ reason, details }) => failures.has(reason) && details['provider']);
  const names = [...new Set(failed.map(({ details }) => details['provider'] ?? ''))];
  const rows = names.flatMap((name) => {
    const own = failed.filter(({ details }) => details['provider'] === name);
    return own
      .slice(0, 1)
      .map((event) => [
        { text: name, href: pathOf(tenantId, 'providers', name) },
        { text: String(own.length) },
        timeOrNone(event.time),
        outcomeCell(event, tenantId),
      ]);
  });
  const columns = ['Provider', 'How often', 'Last time', 'Outcome'];
  const none =
    nextPageToken === '' ? 'None.' : 'None among the latest failed sign-ins. There are more of them.';
  return shortList('Providers that failed in the last day', columns, rows, none);
}

/** The keys that sign now or next. */
async function signingKeys(visit: Visit): Promise<List> {
  const { keys } = await keysOf(visit);
  const rows = keys
    .filter(({ state }) => state !== 'retired')
    .map((key) => [
      { text: key.kid },
      { text: key.algorithm },
      { sentence: keyStates[key.state] ?? key.state },
      timeOrNone(key.activateTime),
    ]);
  return shortList('Signing keys', ['Key', 'Algorithm', 'State', 'Signs since'], rows, 'There is no key.');
}
