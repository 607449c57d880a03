import { ApplicationsService, type Application } from '@tessera/proto-gen/admin-applications';
import { confirmPage, countedEnds, showDone } from '../../confirmed.ts';
import type { ConsolePage, Visit } from '../../console-visit.ts';
import { applicationOf, nameOfApplication, whichOf } from './which-application.ts';

const uncounted = 'What ends could not be counted. Everything of this application ends all the same.';

const about = {
  read: applicationOf,
  nameOf: nameOfApplication,
  etagOf: ({ etag }: Application) => etag,
  back: (visit: Visit) => whichOf(visit).path,
} as const;

function changed(visit: Visit, etag: string, status: 'active' | 'disabled') {
  const { tenantId, clientId } = whichOf(visit);
  return { tenantId, application: { clientId, etag, status }, updateMask: { paths: ['status'] } };
}

/** Stops an application of any owner at once. */
export const disableApplicationPage: ConsolePage = confirmPage({
  ...about,
  message: "People can't sign in to {name}, and its tokens stop working, until somebody enables it again.",
  label: 'Disable this application',
  asksName: true,
  ends: async (visit, { etag }) => {
    const request = { ...changed(visit, etag, 'disabled'), validateOnly: true, impact: true };
    const { impact } = await visit.api(ApplicationsService).update(request, visit.call());
    return countedEnds(impact, uncounted);
  },
  act: async (visit, etag) => {
    await visit.api(ApplicationsService).update(changed(visit, etag, 'disabled'), visit.call());
    return showDone(visit, {
      title: 'The application is disabled',
      message: 'Everything that was issued to it has ended. You can enable it again.',
      next: whichOf(visit).path,
      label: 'Back to this application',
    });
  },
});

/** Takes the former back. */
export const enableApplicationPage: ConsolePage = confirmPage({
  ...about,
  message: 'People can sign in to {name} again. What was issued before stays invalid.',
  label: 'Enable this application',
  isHarmless: true,
  act: async (visit, etag) => {
    await visit.api(ApplicationsService).update(changed(visit, etag, 'active'), visit.call());
    return showDone(visit, {
      title: 'The application is enabled',
      message: 'People can sign in to it again.',
      next: whichOf(visit).path,
      label: 'Back to this application',
    });
  },
});
