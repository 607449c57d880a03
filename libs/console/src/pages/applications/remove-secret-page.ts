import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { confirmPage, showDone } from '../../confirmed.ts';
import { param } from '../../console-visit.ts';
import { applicationOf, nameOfApplication, whichOf } from './which-application.ts';

/** Ends a secret of an application, as once it has a new one. */
export const removeSecretPage = confirmPage({
  read: applicationOf,
  nameOf: nameOfApplication,
  etagOf: ({ etag }) => etag,
  message: 'Programs that still use this secret of {name} no longer get tokens.',
  label: 'Remove this secret',
  back: (visit) => whichOf(visit).path,
  act: async (visit, etag) => {
    const { tenantId, clientId, path } = whichOf(visit);
    const request = { tenantId, clientId, etag, secretId: param(visit, 'secret') };
    await visit.api(ApplicationsService).deleteSecret(request, visit.call());
    return showDone(visit, {
      title: 'The secret is removed',
      message: 'Programs can no longer use it.',
      next: path,
      label: 'Back to this application',
    });
  },
});
