import type { FastifyReply } from 'fastify';
import { ApplicationsService, type Application } from '@tessera/proto-gen/admin-applications';
import { problemOf } from '../../shown-refusals.ts';
import { fieldsOf, here, sentForm, type ConsolePage, type Visit } from '../../console-visit.ts';
import { languageName } from '../../forms/language-name.ts';
import { otherOwner } from '../../forms/owned.ts';
import { whichOf } from './which-application.ts';

type Words = Pick<Application, 'description' | 'descriptions' | 'publisher' | 'homepage'>;

const inLanguage = 'description ';

/** What people read of an application: what it is for, in their languages, and who makes it. */
export const applicationWordsPage: ConsolePage = {
  load: (visit) => show(visit),
  act: async (visit) => {
    const { tenantId, clientId, path } = whichOf(visit);
    const form = sentForm(visit);
    const words = wordsIn(form);
    const application = { clientId, etag: form.get('etag') ?? '', ...words };
    const updateMask = { paths: Object.keys(words) };
    const changed = await visit
      .api(ApplicationsService)
      .update({ tenantId, application, updateMask }, visit.call())
      .catch((error: unknown) => problemOf(error, visit));
    if (typeof changed === 'string') return show(visit, changed, words);
    return visit.send({
      template: 'done',
      title: 'What people read is changed',
      message: 'They read it when they are asked for consent, and at their account.',
      data: { ends: [], next: path, label: 'Back to this application' },
    });
  },
};

function wordsIn(form: ReadonlyMap<string, string>): Words {
  const typed = (name: string) => (form.get(name) ?? '').trim();
  const descriptions = [...form.keys()]
    .filter((name) => name.startsWith(inLanguage) && typed(name) !== '')
    .map((name) => [name.slice(inLanguage.length), typed(name)] as const);
  return {
    description: typed('description'),
    descriptions: Object.fromEntries(descriptions),
    publisher: typed('publisher'),
    homepage: typed('homepage'),
  };
}

/** @param typed what was sent and refused */
async function show(visit: Visit, problem?: string, typed?: Words): Promise<FastifyReply> {
  const { tenantId, clientId, path } = whichOf(visit);
  const application = await visit.api(ApplicationsService).get({ tenantId, clientId }, visit.call());
  const { description, descriptions, publisher, homepage } = typed ?? application;
  // Also those that no page has.
  const tags = [...new Set([...visit.languageTags, ...Object.keys(application.descriptions)])].toSorted();
  return visit.send({
    template: 'application-words',
    data: {
      name: application.name || clientId,
      description,
      languages: tags.map((tag) => ({
        tag,
        name: languageName(tag),
        field: inLanguage + tag,
        text: descriptions[tag] ?? '',
      })),
      publisher,
      homepage,
      owner: otherOwner(application),
      problem,
      path: here(visit),
      back: path,
      fields: fieldsOf(visit, [{ name: 'etag', value: application.etag }]),
    },
  });
}
