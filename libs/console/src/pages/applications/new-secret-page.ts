import type { FastifyReply } from 'fastify';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { problemOf } from '../../shown-refusals.ts';
import { fieldsOf, here, sentForm, type ConsolePage, type Visit } from '../../console-visit.ts';
import { whichOf } from './which-application.ts';

/** Gives an application a new secret beside the one it has, and shows it once. */
export const newSecretPage: ConsolePage = {
  load: (visit) => show(visit),
  act: async (visit) => {
    const { tenantId, clientId, path } = whichOf(visit);
    const etag = sentForm(visit).get('etag') ?? '';
    const made = await visit
      .api(ApplicationsService)
      .createSecret({ tenantId, clientId, etag }, visit.call())
      .catch((error: unknown) => problemOf(error, visit));
    if (typeof made === 'string') return show(visit, made);
    return visit.send({
      template: 'done',
      title: 'The new secret',
      message: 'Copy it now: it is not shown again. The earlier secret works until you remove it.',
      data: { ends: [], secret: made.value, next: path, label: 'Back to this application' },
    });
  },
};

async function show(visit: Visit, problem?: string): Promise<FastifyReply> {
  const { tenantId, clientId, path } = whichOf(visit);
  const application = await visit.api(ApplicationsService).get({ tenantId, clientId }, visit.call());
  return visit.send({
    template: 'kit/confirm',
    message: '{name} gets a second secret. The one that it has works until you remove it.',
    data: {
      values: { name: application.name || clientId },
      label: 'Make a secret',
      isHarmless: true,
      problem,
      path: here(visit),
      back: path,
      fields: fieldsOf(visit, [{ name: 'etag', value: application.etag }]),
    },
  });
}
