import { ApplicationsService, type Application } from '@tessera/proto-gen/admin-applications';
import { ResourcesService, type Resource } from '@tessera/proto-gen/admin-resources';
import { countedEnds, showDone } from '../../confirmed.ts';
import { formPage, type Sent } from '../../forms/form-page.ts';
import { confirmedBefore } from '../../forms/confirmed-form.ts';
import { otherOwner } from '../../forms/owned.ts';
import { applicationOf, nameOfApplication, whichOf } from './which-application.ts';
import { scopesInput, scopesOf } from './scopes-input.ts';

interface Edited {
  readonly application: Application;
  readonly resources: readonly Resource[];
}

/** Name, addresses and scopes of an application. */
export const editApplicationPage = formPage<Edited>({
  read: async (visit) => {
    const { tenantId } = whichOf(visit);
    const [application, { resources }] = await Promise.all([
      applicationOf(visit),
      visit.api(ResourcesService).list({ tenantId, pageSize: 200 }, visit.call()),
    ]);
    return { application, resources };
  },
  subject: ({ application }) => nameOfApplication(application),
  ownerOf: ({ application }) => otherOwner(application),
  label: 'Save',
  inputs: ({ application, resources }) => [
    { name: 'name', label: 'Name', kind: 'text', value: application.name, isRequired: true, longest: 200 },
    ...(hasRedirects(application)
      ? ([
          {
            name: 'redirectUris',
            label: 'Redirect URIs',
            hint: 'Where people return after they sign in, one a line. The application sends exactly the same text.',
            kind: 'lines',
            value: application.redirectUris.join('\n'),
            isRequired: true,
          },
          {
            name: 'logoutRedirectUris',
            label: 'Addresses after signing out',
            hint: 'Where people return after they sign out, one a line. You can leave it empty.',
            kind: 'lines',
            value: application.logoutRedirectUris.join('\n'),
          },
        ] as const)
      : []),
    ...scopesInput(resources, application.scopes),
  ],
  hidden: ({ application }) => [{ name: 'etag', value: application.etag }],
  back: (visit) => whichOf(visit).path,
  send: async (visit, sent, { application: present, resources }) => {
    const { tenantId, clientId, path } = whichOf(visit);
    const application = { clientId, etag: sent.text('etag'), ...changesIn(sent, present, resources) };
    const { etag: _etag, clientId: _clientId, ...fields } = application;
    const request = { tenantId, application, updateMask: { paths: Object.keys(fields).map(snakeCase) } };
    const asked = await confirmedBefore(visit, sent, {
      ends: async () => {
        const found = await visit
          .api(ApplicationsService)
          .update({ ...request, validateOnly: true, impact: true }, visit.call());
        return countedEnds(found.impact, 'What ends could not be counted.');
      },
      title: 'Change this application?',
      message: 'This change ends something that works now.',
      label: 'Change it',
      back: path,
    });
    if (asked !== undefined) return asked;
    await visit.api(ApplicationsService).update(request, visit.call());
    return showDone(visit, {
      title: 'The application is changed',
      message: 'The change applies at once.',
      next: path,
      label: 'Back to this application',
    });
  },
});

const hasRedirects = ({ grantTypes }: Application): boolean => grantTypes.includes('authorization_code');

function changesIn(sent: Sent, present: Application, resources: readonly Resource[]) {
  return {
    name: sent.text('name'),
    scopes: scopesOf(sent, present.scopes, resources),
    ...(hasRedirects(present) && {
      redirectUris: sent.lines('redirectUris'),
      logoutRedirectUris: sent.lines('logoutRedirectUris'),
    }),
  };
}

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
