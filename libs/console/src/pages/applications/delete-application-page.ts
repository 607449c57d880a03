import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { confirmPage, countedEnds, showDone } from '../../confirmed.ts';
import { pathOf } from '../../console-visit.ts';
import { applicationOf, nameOfApplication, whichOf } from './which-application.ts';

const uncounted = 'What ends could not be counted. Everything of this application ends all the same.';

/** Deletes an application, which can be brought back for a while. */
export const deleteApplicationPage = confirmPage({
  read: applicationOf,
  nameOf: nameOfApplication,
  etagOf: ({ etag }) => etag,
  message:
    'People can no longer sign in to {name}, and its tokens stop working. You can restore it within 30 days, but not what was issued before.',
  label: 'Delete this application',
  asksName: true,
  ends: async (visit, { etag }) => {
    const { tenantId, clientId } = whichOf(visit);
    const request = { tenantId, clientId, etag, validateOnly: true, impact: true };
    const { impact } = await visit.api(ApplicationsService).delete(request, visit.call());
    return countedEnds(impact, uncounted);
  },
  back: (visit) => whichOf(visit).path,
  act: async (visit, etag) => {
    const { tenantId, clientId } = whichOf(visit);
    await visit.api(ApplicationsService).delete({ tenantId, clientId, etag }, visit.call());
    return showDone(visit, {
      title: 'The application is deleted',
      message: 'Everything that was issued to it has ended. You can restore it within 30 days.',
      next: pathOf(tenantId, 'applications'),
      label: 'Back to the applications',
    });
  },
});
