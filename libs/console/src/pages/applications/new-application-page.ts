import { normalizeStart, uuid } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { ResourcesService, type Resource } from '@tessera/proto-gen/admin-resources';
import { applicationKinds, kindNamed, type ApplicationKind } from './application-kinds.ts';
import { formPage, type Input, type Sent } from '../../forms/form-page.ts';
import { param, pathOf, type ConsolePage } from '../../console-visit.ts';
import { scopesInput, scopesOf } from './scopes-input.ts';
import { snippetFor } from './snippet.ts';

/** Asks what kind of program it is. */
export const kindsPage: ConsolePage = {
  load: async (visit) => {
    const tenantId = param(visit, 'tenant');
    // Nobody chooses who may not make one.
    await visit.api(ResourcesService).list({ tenantId, pageSize: 1 }, visit.call());
    const kinds = applicationKinds.map(({ name, label, purpose }) => ({
      label,
      purpose,
      href: pathOf(tenantId, 'new-application', name),
    }));
    return visit.send({ template: 'kinds', data: { kinds, back: pathOf(tenantId, 'applications') } });
  },
};

interface Asked {
  readonly kind: ApplicationKind;
  readonly resources: readonly Resource[];
}

/** Makes an application of a kind, and shows how a program uses it. */
export const newApplicationPage = formPage<Asked>({
  read: async (visit) => {
    const kind = kindNamed(param(visit, 'kind'));
    if (kind === undefined) throw new OAuthError('not_found', 'Not found.');
    const request = { tenantId: param(visit, 'tenant'), pageSize: 200 };
    const { resources } = await visit.api(ResourcesService).list(request, visit.call());
    return { kind, resources };
  },
  title: ({ kind }) => kind.label,
  label: 'Create the application',
  inputs: inputsOf,
  back: (visit) => pathOf(param(visit, 'tenant'), 'new-application'),
  send: async (visit, sent, { kind, resources }) => {
    const tenantId = param(visit, 'tenant');
    const application = applicationFrom(sent, kind, resources);
    const { clientId } = application;
    const made = await visit.api(ApplicationsService).create({ tenantId, application }, visit.call());
    const secret =
      made.type === 'confidential'
        ? (await visit.api(ApplicationsService).createSecret({ tenantId, clientId }, visit.call())).value
        : undefined;
    return visit.send({
      template: 'made-application',
      title: 'The application is ready',
      data: {
        name: made.name,
        facts: [['Client ID', { text: clientId }]],
        secret,
        snippet: await snippetFor(visit, made, kind.name),
        path: pathOf(tenantId, 'applications', clientId),
      },
    });
  },
});

function inputsOf({ kind, resources }: Asked): readonly Input[] {
  const redirects: readonly Input[] = [
    {
      name: 'redirectUris',
      label: 'Redirect URIs',
      hint: 'Where people return after they sign in, one a line, for example {example}. The application sends exactly the same text.',
      hintValues: { example: kind.example ?? '' },
      kind: 'lines',
      isRequired: true,
    },
    {
      name: 'logoutRedirectUris',
      label: 'Addresses after signing out',
      hint: 'Where people return after they sign out, one a line. You can leave it empty.',
      kind: 'lines',
    },
  ];
  return [
    {
      name: 'name',
      label: 'Name',
      hint: 'People read it when they sign in.',
      kind: 'text',
      isRequired: true,
      longest: 200,
    },
    {
      name: 'clientId',
      label: 'Client ID',
      hint: "The application identifies itself with it. You can't change it later. Leave it empty and we'll create one from the name.",
      kind: 'text',
      longest: 128,
    },
    ...(kind.redirects ? redirects : []),
    ...scopesInput(resources, []),
  ];
}

function applicationFrom(sent: Sent, kind: ApplicationKind, resources: readonly Resource[]) {
  const redirectUris = kind.redirects ? sent.lines('redirectUris') : [];
  const isAtLoopback = redirectUris.some((uri) =>
    /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)[:/]/.test(uri),
  );
  const name = sent.text('name');
  return {
    name,
    clientId: sent.text('clientId') || clientIdFrom(name),
    ...kind.made,
    scopes: scopesOf(sent, kind.scopes, resources),
    redirectUris,
    logoutRedirectUris: kind.redirects ? sent.lines('logoutRedirectUris') : [],
    // RFC 8252 §7.3: a native application listens on a free port.
    ...(kind.name === 'native' && isAtLoopback && { loopbackPorts: 'any' }),
  };
}

/** A client ID that nobody has, and that tells what it is of. */
function clientIdFrom(name: string): string {
  const slug = normalizeStart(name, 'NFKD', 100)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 40);
  const beginning = slug === '' || slug.startsWith('usr') ? 'app' : slug;
  return `${beginning}-${uuid().slice(0, 8)}`;
}
