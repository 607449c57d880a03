import { TenantsService, type Tenant } from '@tessera/proto-gen/admin-tenants';
import { authenticationPolicies, optionalMethods } from '@tessera/oauth';
import { styleSheet, readQuery, shownParameter, withParameters, type Cell } from '@tessera/pages';
import { countedEnds, showDone } from '../../confirmed.ts';
import { confirmedBefore } from '../../forms/confirmed-form.ts';
import { formPage, type Input, type Sent } from '../../forms/form-page.ts';
import { otherOwner, ownerCell } from '../../forms/owned.ts';
import { param, pathOf, type ConsolePage, type Visit } from '../../console-visit.ts';

const settingsPath = (visit: Visit) => pathOf(param(visit, 'tenant'), 'settings');

async function tenantOf(visit: Visit): Promise<Tenant> {
  return visit.api(TenantsService).get({ tenantId: param(visit, 'tenant') }, visit.call());
}

/** From the weakest to the strongest. */
const policyLabels = [
  'One way to sign in is enough',
  'People need a second factor',
  'People need a passkey',
] as const;
const policies: Readonly<Record<string, string>> = Object.fromEntries(
  authenticationPolicies.map((policy, at) => [policy, policyLabels[at] ?? policy]),
);

const registrations: Readonly<Record<string, string>> = {
  closed: 'Administrators create all accounts',
  invitation: 'People whom an administrator has added can create an account',
  domain: 'People with an address of your domains can create an account',
  open: 'Anyone can create an account',
};

/** What each way does for people; all that `optionalMethods` has. */
const methodLabels: Readonly<Record<string, string>> = {
  'mail-code-second': 'People without a second factor can use a code by email',
  'mail-code': 'People can sign in with a code by email',
};

/** What an organization has decided: its looks, and what its people need to sign in. */
export const settingsPage: ConsolePage = {
  load: async (visit) => {
    const tenant = await tenantOf(visit);
    const { name, tenantId, authenticationPolicy, registration, registrationDomains, accountClosing } =
      tenant;
    const path = settingsPath(visit);
    const facts: readonly (readonly [string, Cell])[] = [
      ['Name', { text: name }],
      ['Identifier', { text: tenantId }],
      ['Owner', ownerCell(tenant.owner)],
      ['Issuer', { text: tenant.issuer || visit.issuer }],
      ['Sign-in', { sentence: policies[authenticationPolicy] ?? policyLabels[0] }],
      ['New accounts', { sentence: registrations[registration] ?? registrations['closed'] ?? '' }],
      ['Domains of new accounts', { text: registrationDomains.join(' ') }],
      [
        'Closing accounts',
        {
          sentence: accountClosing ? 'People can close their accounts' : 'Only administrators close accounts',
        },
      ],
    ];
    return visit.send({
      template: 'settings',
      data: {
        path,
        owner: otherOwner(tenant),
        facts: facts.filter(([, cell]) => !('text' in cell && cell.text === '')),
        ...previewOf(tenant.looks, name),
      },
    });
  },
};

/** The colours of a preview, for its style sheet, and the name in it. */
function previewOf(looks: { accentColor: string; accentColorDark: string } | undefined, name: string) {
  const { accentColor: light = '', accentColorDark: dark = '' } = looks ?? {};
  return { tenantStyle: withParameters('/looks.css', { light, dark }), previewName: name };
}

/** The style sheet of a preview: of its address alone, so that it shows what nobody has saved yet. */
export const looksStylePage: ConsolePage = {
  load: async ({ request, reply }) => {
    const query = readQuery(request);
    const [light, dark] = ['light', 'dark'].map((name) => shownParameter(query, name));
    const sheet = styleSheet({ accentColor: light ?? '', accentColorDark: dark ?? '' });
    return reply
      .header('cache-control', 'no-store')
      .type('text/css; charset=utf-8')
      .send(sheet.replaceAll(':root', '.preview'));
  },
};

/** Name, colours, logo and links of the pages of people, with a preview. */
export const looksPage = formPage<Tenant>({
  read: tenantOf,
  subject: ({ name }) => name,
  ownerOf: otherOwner,
  label: 'Save',
  template: 'looks',
  inputs: ({ name, looks }) => [
    {
      name: 'name',
      label: 'Name',
      hint: 'People read it on the sign-in page.',
      kind: 'text',
      value: name,
      isRequired: true,
      longest: 200,
    },
    {
      name: 'looks.accentColor',
      label: 'Colour of buttons and links',
      hint: 'For example #3d52d5: dark enough for white pages. Leave it empty for the usual colour.',
      kind: 'text',
      value: looks?.accentColor ?? '',
      longest: 7,
    },
    {
      name: 'looks.accentColorDark',
      label: 'The same on dark pages',
      hint: 'Leave it empty for a lighter shade of the other.',
      kind: 'text',
      value: looks?.accentColorDark ?? '',
      longest: 7,
    },
    {
      name: 'looks.logo',
      label: 'Logo',
      hint: 'A PNG image of at most 16 KiB, written as data:image/png;base64 and so on.',
      kind: 'lines',
      value: looks?.logo ?? '',
    },
    {
      name: 'looks.tosUri',
      label: 'Terms of service',
      hint: 'An https address.',
      kind: 'text',
      value: looks?.tosUri ?? '',
    },
    {
      name: 'looks.policyUri',
      label: 'Privacy policy',
      hint: 'An https address.',
      kind: 'text',
      value: looks?.policyUri ?? '',
    },
  ],
  hidden: ({ etag }) => [{ name: 'etag', value: etag }],
  data: ({ name, looks }, _visit, sent) =>
    sent === undefined
      ? previewOf(looks, name)
      : previewOf(
          {
            accentColor: sent.text('looks.accentColor'),
            accentColorDark: sent.text('looks.accentColorDark'),
          },
          sent.text('name'),
        ),
  back: settingsPath,
  send: async (visit, sent) => {
    const looks = Object.fromEntries(
      ['accentColor', 'accentColorDark', 'logo', 'tosUri', 'policyUri'].map((key) => [
        key,
        sent.text(`looks.${key}`),
      ]),
    );
    await visit
      .api(TenantsService)
      .update(changed(visit, sent, { name: sent.text('name'), looks }), visit.call());
    return showDone(visit, {
      title: 'The looks are changed',
      message: 'People see them in a moment.',
      next: settingsPath(visit),
      label: 'Back to the settings',
    });
  },
});

function changed(visit: Visit, sent: Sent, fields: Readonly<Record<string, unknown>>) {
  const tenantId = param(visit, 'tenant');
  const paths = Object.keys(fields).map((name) =>
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
  return { tenantId, tenant: { tenantId, etag: sent.text('etag'), ...fields }, updateMask: { paths } };
}

const choiceOf = (labels: Readonly<Record<string, string>>, chosen: string): Input['options'] =>
  Object.entries(labels).map(([value, label]) => ({ value, label, isOn: value === chosen }));

/** What sign-ins need, and who may make an account. */
export const policyPage = formPage<Tenant>({
  read: tenantOf,
  subject: ({ name }) => name,
  ownerOf: otherOwner,
  label: 'Save',
  inputs: ({ authenticationPolicy, registration, registrationDomains, accountClosing, signInMethods }) => [
    {
      name: 'authenticationPolicy',
      label: 'Sign-in',
      hint: 'People without a second factor set one up at their next sign-in. A passkey must be there before you require it.',
      kind: 'one',
      options: choiceOf(policies, authenticationPolicy) ?? [],
    },
    {
      name: 'registration',
      label: 'New accounts',
      kind: 'one',
      options: choiceOf(registrations, registration) ?? [],
    },
    {
      name: 'registrationDomains',
      label: 'Domains of new accounts',
      hint: 'One a line, such as example.com.',
      kind: 'lines',
      value: registrationDomains.join('\n'),
    },
    {
      name: 'also',
      label: 'What else people can do',
      kind: 'several',
      options: [
        { value: 'accountClosing', label: 'People can close their accounts', isOn: accountClosing },
        ...Object.keys(optionalMethods).map((method) => ({
          value: method,
          label: methodLabels[method] ?? method,
          isOn: signInMethods.includes(method),
        })),
      ],
    },
  ],
  hidden: ({ etag }) => [{ name: 'etag', value: etag }],
  back: settingsPath,
  send: async (visit, sent) => {
    const also = sent.chosen('also');
    const request = changed(visit, sent, {
      authenticationPolicy: sent.text('authenticationPolicy'),
      registration: sent.text('registration'),
      registrationDomains: sent.lines('registrationDomains'),
      accountClosing: also.includes('accountClosing'),
      signInMethods: also.filter((method) => method in optionalMethods),
    });
    const asked = await confirmedBefore(visit, sent, {
      ends: async () => {
        const asks = { ...request, validateOnly: true, impact: true };
        const { impact } = await visit.api(TenantsService).update(asks, visit.call());
        return countedEnds(impact, 'What ends could not be counted.');
      },
      title: 'Change what sign-ins need?',
      message: 'This change ends something that works now.',
      label: 'Change it',
      back: settingsPath(visit),
    });
    if (asked !== undefined) return asked;
    await visit.api(TenantsService).update(request, visit.call());
    return showDone(visit, {
      title: 'The policy is changed',
      message: 'It applies from the next sign-in.',
      next: settingsPath(visit),
      label: 'Back to the settings',
    });
  },
});
