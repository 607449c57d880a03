import { AuditService } from '@tessera/proto-gen/admin-audit';
import { MailService } from '@tessera/proto-gen/admin-mail';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { readQuery, type List } from '@tessera/pages';
import { shortList, timeOrNone } from '../cells.ts';
import { saidOf } from '../shown-refusals.ts';
import { nameOf } from '../shown-person.ts';
import { param, pathOf, type ConsolePage, type Visit } from '../console-visit.ts';
import { signIns } from './trail/sign-in-plots.ts';
import { clientCell, eventCell, outcomeCell, subjectCell } from './trail/event-words.ts';

const shown = 5;

/**
 * What waits in an organization, and what is wrong. It is for who may see people; what of the rest somebody may not
 * see is said in the words of the API.
 */
export const homePage: ConsolePage = {
  load: async (visit) => {
    const tenantId = param(visit, 'tenant');
    const by = readQuery(visit.request).get('by') === 'day' ? 'day' : 'hour';
    const [counted, invited, locked, mail, refusals] = await Promise.all([
      signIns(visit, by).catch((error: unknown) => saidOf(error)),
      people(visit, 'Invited, and not here yet', { invited: true }),
      people(visit, 'Locked by an administrator', { status: 'locked' }),
      unsentMail(visit).catch((error: unknown) => saidOf(error)),
      lastRefusals(visit).catch((error: unknown) => saidOf(error)),
    ]);
    // The API has answered: they may know this organization.
    const organization = await visit.signIn.nameOf(tenantId, visit.call());
    const all = pathOf(tenantId, 'people');
    const sections = [
      { title: invited.caption, list: invited, all: `${all}?invited=yes` },
      { title: locked.caption, list: locked, all: `${all}?status=locked` },
      { title: 'Mail that could not be sent yet', ...shownOrRefused(mail) },
      {
        title: 'The last refusals',
        ...shownOrRefused(refusals),
        all: `${pathOf(tenantId, 'audit')}?outcome=failure`,
      },
    ];
    const path = pathOf(tenantId);
    const activity = typeof counted === 'string' ? { refusal: counted } : counted;
    return visit.send({
      template: 'home',
      data: {
        organization,
        sections,
        activity,
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
