import { ApprovalsService, type Approval } from '@tessera/proto-gen/admin-approvals';
import type { Cell } from '@tessera/pages';
import { confirmedOfPerson, personOf, type Sentence } from '../../confirmed.ts';
import { actCell, shortList, timeOrNone } from '../../cells.ts';
import { nameOf } from '../../shown-person.ts';
import { param, pathOf, type ConsolePage } from '../../console-visit.ts';

/** What waits for the approval of a person. */
export const approvalsPage: ConsolePage = {
  load: async (visit) => {
    const [tenantId, userId] = [param(visit, 'tenant'), param(visit, 'person')];
    const [user, { approvals }] = await Promise.all([
      personOf(visit),
      visit.api(ApprovalsService).list({ tenantId, userId }, visit.call()),
    ]);
    const person = pathOf(tenantId, 'people', userId);
    const list = shortList(
      'What waits for approval',
      ['Application', 'May', 'Message', 'Address', 'Expires', 'End'],
      approvals.map((approval) => rowOf(approval, tenantId, person)),
      'Nothing waits for this person.',
    );
    return visit.send({ template: 'of-person', data: { name: nameOf(user), list, person } });
  },
};

function rowOf(approval: Approval, tenantId: string, person: string): readonly Cell[] {
  const { approvalId, clientId, scopes, bindingMessage, ipAddress, expireTime } = approval;
  return [
    { text: clientId, href: pathOf(tenantId, 'applications', clientId) },
    { text: scopes.join(' ') },
    { text: bindingMessage },
    { text: ipAddress },
    timeOrNone(expireTime),
    actCell('Deny', `${person}/approvals/${encodeURIComponent(approvalId)}`),
  ];
}

/** Denies one of these requests, as the person would. */
export const denyApprovalPage = confirmedOfPerson({
  message: 'The application learns that {name} has not approved. It may ask again.',
  label: 'Deny',
  ends: async (visit, { tenantId, userId }) => {
    const { approvals } = await visit.api(ApprovalsService).list({ tenantId, userId }, visit.call());
    const approval = approvals.find(({ approvalId }) => approvalId === param(visit, 'approval'));
    const ends: Sentence =
      approval === undefined
        ? ['Nothing is open that would end.']
        : ['The request of {application} ends', { application: approval.clientId }];
    return [ends];
  },
  act: async (visit, { tenantId }) => {
    const request = { tenantId, approvalId: param(visit, 'approval') };
    await visit.api(ApprovalsService).cancel(request, visit.call());
    return { title: 'The request is denied', message: 'The application has been told.' };
  },
});
