import { ResourcesService, type DeclaredScope, type Resource } from '@tessera/proto-gen/admin-resources';
import { confirmPage, countedEnds, showDone } from '../../confirmed.ts';
import { formPage, type Input, type Sent } from '../../forms/form-page.ts';
import { languageName } from '../../forms/language-name.ts';
import { otherOwner } from '../../forms/owned.ts';
import { goTo, param, pathOf, type Visit } from '../../console-visit.ts';
import { apiOf, nameOfApi, scopeOf, whichApi } from './which-api.ts';

const inLanguage = 'descriptions ';
const back = (visit: Visit) => whichApi(visit).path;

/** Makes an API. */
export const newApiPage = formPage<undefined>({
  read: async (visit) => {
    // Nobody fills in a form for nothing.
    await visit.api(ResourcesService).list({ tenantId: param(visit, 'tenant'), pageSize: 1 }, visit.call());
    return undefined;
  },
  label: 'Create the API',
  inputs: () => [
    { name: 'name', label: 'Name', kind: 'text', isRequired: true, longest: 200 },
    {
      name: 'audience',
      label: 'Audience',
      hint: "Its address or another name, for example https://orders.example.com. The API checks that tokens name it. You can't change it later.",
      kind: 'text',
      isRequired: true,
      longest: 512,
    },
    {
      name: 'scopes',
      label: 'Scopes',
      hint: 'What applications may do there, one name a line, such as orders.read. You can add more later.',
      kind: 'lines',
    },
  ],
  back: (visit) => pathOf(param(visit, 'tenant'), 'apis'),
  send: async (visit, sent) => {
    const tenantId = param(visit, 'tenant');
    const scopes = sent.lines('scopes').map((name) => ({ name }));
    const resource = { name: sent.text('name'), audience: sent.text('audience'), scopes };
    const { audience } = await visit.api(ResourcesService).create({ tenantId, resource }, visit.call());
    return showDone(visit, {
      title: 'The API is ready',
      message: 'Describe each scope next: people read it when they are asked for consent.',
      next: pathOf(tenantId, 'apis', audience),
      label: 'Open this API',
    });
  },
});

/** Its name, and whose roles its tokens have. */
export const editApiPage = formPage<Resource>({
  read: apiOf,
  subject: nameOfApi,
  ownerOf: otherOwner,
  label: 'Save',
  inputs: ({ name, tokenType, signingAlgorithm }) => [
    { name: 'name', label: 'Name', kind: 'text', value: name, isRequired: true, longest: 200 },
    choice('tokenType', 'Type of its tokens', ['at+jwt', 'JWT'], tokenType),
    choice('signingAlgorithm', 'Signature of its tokens', ['RS256', 'ES256'], signingAlgorithm),
  ],
  hidden: ({ etag }) => [{ name: 'etag', value: etag }],
  back,
  send: async (visit, sent) => {
    const fields = {
      name: sent.text('name'),
      tokenType: sent.text('tokenType'),
      signingAlgorithm: sent.text('signingAlgorithm'),
    };
    await change(visit, sent.text('etag'), fields, ['name', 'token_type', 'signing_algorithm']);
    return goTo(visit, back(visit));
  },
});

function choice(name: string, label: string, values: readonly string[], chosen: string): Input {
  const options = values.map((value) => ({ value, label: value, isOn: value === chosen }));
  return { name, label, kind: 'one', options };
}

async function change(visit: Visit, etag: string, fields: object, paths: readonly string[]): Promise<void> {
  const { tenantId, audience } = whichApi(visit);
  const request = { tenantId, resource: { audience, etag, ...fields }, updateMask: { paths: [...paths] } };
  await visit.api(ResourcesService).update(request, visit.call());
}

/** What people read of a scope. */
const wordsInputs = (scope: Pick<DeclaredScope, 'description' | 'descriptions'>, tags: readonly string[]) => [
  {
    name: 'description',
    label: 'What people read',
    hint: 'What an application may do with it, such as “see your orders”.',
    kind: 'text',
    value: scope.description,
    longest: 500,
  } as const,
  ...[...new Set([...tags, ...Object.keys(scope.descriptions)])].toSorted().map((tag): Input => ({
    name: inLanguage + tag,
    label: 'The same in {language}',
    labelValues: { language: languageName(tag) },
    kind: 'text',
    value: scope.descriptions[tag] ?? '',
    longest: 500,
    language: tag,
  })),
];

function wordsIn({ text, form }: Sent) {
  const tags = [...form.keys()].filter((name) => name.startsWith(inLanguage) && text(name) !== '');
  return {
    description: text('description'),
    descriptions: Object.fromEntries(tags.map((name) => [name.slice(inLanguage.length), text(name)])),
  };
}

/** Adds a scope to an API. */
export const newScopePage = formPage<Resource>({
  read: apiOf,
  subject: nameOfApi,
  ownerOf: otherOwner,
  label: 'Add the scope',
  inputs: (_api, { languageTags }) => [
    {
      name: 'name',
      label: 'Name',
      hint: 'Applications ask for it by this name, such as orders.read.',
      kind: 'text',
      isRequired: true,
      longest: 128,
    },
    ...wordsInputs({ description: '', descriptions: {} }, languageTags),
  ],
  hidden: ({ etag }) => [{ name: 'etag', value: etag }],
  back,
  send: async (visit, sent, { scopes }) => {
    const added = { name: sent.text('name'), ...wordsIn(sent) };
    await change(visit, sent.text('etag'), { scopes: [...scopes, added] }, ['scopes']);
    return goTo(visit, back(visit));
  },
});

/** What people read of a scope, in their languages. */
export const scopePage = formPage<Awaited<ReturnType<typeof scopeOf>>>({
  read: scopeOf,
  subject: ({ scope }) => scope.name,
  ownerOf: ({ api }) => otherOwner(api),
  label: 'Save',
  template: 'scope',
  inputs: ({ scope }, { languageTags }) => wordsInputs(scope, languageTags),
  hidden: ({ api }) => [{ name: 'etag', value: api.etag }],
  back,
  send: async (visit, sent, { api, scope }) => {
    const scopes = api.scopes.map((other) =>
      other.name === scope.name ? { name: scope.name, ...wordsIn(sent) } : other,
    );
    await change(visit, sent.text('etag'), { scopes }, ['scopes']);
    return goTo(visit, back(visit));
  },
});

const uncounted = 'What ends could not be counted.';

/** Takes a scope away. */
export const removeScopePage = confirmPage<Awaited<ReturnType<typeof scopeOf>>>({
  read: scopeOf,
  nameOf: ({ scope }) => scope.name,
  etagOf: ({ api }) => api.etag,
  message: 'Applications can no longer ask for {name}. Remove it from the applications that use it first.',
  label: 'Remove this scope',
  asksName: true,
  ends: async (visit, { api, scope }) => {
    const { tenantId, audience } = whichApi(visit);
    const scopes = api.scopes.filter(({ name }) => name !== scope.name);
    const request = { tenantId, resource: { audience, scopes }, updateMask: { paths: ['scopes'] } };
    const found = await visit
      .api(ResourcesService)
      .update({ ...request, validateOnly: true, impact: true }, visit.call());
    return countedEnds(found.impact, uncounted);
  },
  back,
  act: async (visit, etag) => {
    const { scopes } = await apiOf(visit);
    const left = scopes.filter(({ name }) => name !== param(visit, 'scope'));
    await change(visit, etag, { scopes: left }, ['scopes']);
    return goTo(visit, back(visit));
  },
});

/** Deletes an API. */
export const deleteApiPage = confirmPage<Resource>({
  read: apiOf,
  nameOf: nameOfApi,
  etagOf: ({ etag }) => etag,
  message:
    'Applications can no longer get tokens for {name}. Remove its scopes from the applications that use it first.',
  label: 'Delete this API',
  asksName: true,
  ends: async (visit, { etag }) => {
    const { tenantId, audience } = whichApi(visit);
    const request = { tenantId, audience, etag, validateOnly: true, impact: true };
    return countedEnds((await visit.api(ResourcesService).delete(request, visit.call())).impact, uncounted);
  },
  back,
  act: async (visit, etag) => {
    const { tenantId, audience } = whichApi(visit);
    await visit.api(ResourcesService).delete({ tenantId, audience, etag }, visit.call());
    return showDone(visit, {
      title: 'The API is deleted',
      message: 'No application can get tokens for it now.',
      next: pathOf(tenantId, 'apis'),
      label: 'Back to the APIs',
    });
  },
});
