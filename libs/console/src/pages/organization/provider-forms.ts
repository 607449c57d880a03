import { Secret } from '@tessera/kit';
import { countedEnds, showDone } from '../../confirmed.ts';
import { confirmedBefore } from '../../forms/confirmed-form.ts';
import { formPage, type Input, type Sent } from '../../forms/form-page.ts';
import { InvalidFormError } from '../../shown-refusals.ts';
import { param, pathOf, type Visit } from '../../console-visit.ts';
import {
  declare,
  declaring,
  impactOf,
  pathOfProvider,
  providerOf,
  providersOf,
  redirectUriOf,
  type DeclaredProvider,
} from './declared-providers.ts';

const makes: readonly (readonly [preset: string, label: string])[] = [
  ['none', 'Another OpenID provider'],
  ['google', 'Google'],
  ['entra', 'Microsoft Entra ID'],
  ['okta', 'Okta'],
  ['keycloak', 'Keycloak'],
  ['tessera', 'Tessera'],
];

const google = 'https://accounts.google.com';

function inputsOf(present: Partial<DeclaredProvider>): readonly Input[] {
  const { displayName = '', preset = 'none', issuer = '', clientId = '', domains = [] } = present;
  const chosen = {
    createsAccounts: present.createsAccounts === true,
    linking: present.linking === 'verified-email',
  };
  return [
    {
      name: 'displayName',
      label: 'Name',
      hint: 'People read it on the button.',
      kind: 'text',
      value: displayName,
      isRequired: true,
      longest: 100,
    },
    {
      name: 'preset',
      label: 'Type of provider',
      kind: 'one',
      options: makes.map(([value, label]) => ({ value, label, isOn: value === preset })),
    },
    {
      name: 'issuer',
      label: 'Issuer',
      hint: "The provider's issuer, for example https://login.example.com. Leave it empty for Google.",
      kind: 'text',
      value: issuer,
      longest: 512,
    },
    {
      name: 'clientId',
      label: 'Client ID',
      hint: 'The provider gives you one when you register this server there.',
      kind: 'text',
      value: clientId,
      isRequired: true,
      longest: 512,
    },
    {
      name: 'clientSecret',
      label: 'Client secret',
      hint:
        present.name === undefined
          ? "The provider gives it to you with the client ID. We won't show it again."
          : 'Leave it empty to keep the stored secret. You need it if you change the issuer or the client ID.',
      kind: 'secret',
      isRequired: present.name === undefined,
      longest: 1024,
    },
    {
      name: 'domains',
      label: 'Email domains',
      hint: 'People with an address of these domains go straight to the provider. One a line, for example example.com. You can leave it empty.',
      kind: 'lines',
      value: domains.join('\n'),
    },
    {
      name: 'people',
      label: 'At the first sign-in',
      kind: 'several',
      options: [
        { value: 'createsAccounts', label: 'New people get an account', isOn: chosen.createsAccounts },
        {
          value: 'linking',
          label: 'People sign in to the account that has the same verified email address',
          isOn: chosen.linking,
        },
      ],
    },
  ];
}

const saveAnyway = (findings: boolean): readonly Input[] =>
  findings
    ? [
        {
          name: 'anyway',
          label: 'If the test fails',
          kind: 'several',
          options: [{ value: 'yes', label: 'Save it anyway', isOn: false }],
        },
      ]
    : [];

function providerIn(sent: Sent, name: string): DeclaredProvider {
  const preset = sent.text('preset') || 'none';
  const issuer = sent.text('issuer') || (preset === 'google' ? google : '');
  const people = sent.chosen('people');
  const secret = sent.text('clientSecret');
  return {
    name,
    preset,
    issuer,
    displayName: sent.text('displayName'),
    clientId: sent.text('clientId'),
    domains: sent.lines('domains'),
    createsAccounts: people.includes('createsAccounts'),
    linking: people.includes('linking') ? 'verified-email' : 'never',
    ...(secret !== '' && { clientSecret: secret }),
  };
}

/** Throws InvalidFormError with what is wrong, unless it is to be saved all the same. */
async function tryFirst(
  visit: Visit,
  sent: Sent,
  provider: DeclaredProvider,
  redirectUri: string,
): Promise<void> {
  if (sent.chosen('anyway').length > 0) return;
  const { issuer = '', clientId = '', clientSecret } = provider;
  // Who may not set it up sends no request there either.
  await impactOf(visit, declaring(visit, [provider], true));
  const tried = {
    issuer,
    clientId,
    redirectUri,
    ...(clientSecret && { clientSecret: new Secret(clientSecret) }),
  };
  const wrong = (await visit.tryProvider(tried)).filter(({ isGood }) => !isGood);
  if (wrong.length > 0)
    throw new InvalidFormError(wrong.map(({ input, sentence, values }) => ({ input, sentence, values })));
}

/** Sets a provider up, once it has passed the test. */
export const newProviderPage = formPage<Awaited<ReturnType<typeof providersOf>>>({
  read: providersOf,
  label: 'Test and save',
  inputs: () => [
    {
      name: 'name',
      label: 'Short name',
      hint: "Lower-case letters, digits and dashes. It is part of the redirect URI, so you can't change it later.",
      kind: 'text',
      isRequired: true,
      longest: 63,
    },
    ...inputsOf({}),
    ...saveAnyway(true),
  ],
  template: 'provider-form',
  data: ({ issuer }, visit, sent) => ({
    redirectUri: redirectUriOf(visit, issuer, sent?.text('name') || 'NAME'),
  }),
  back: (visit) => pathOf(param(visit, 'tenant'), 'providers'),
  send: async (visit, sent, { listed, issuer }) => {
    const provider = providerIn(sent, sent.text('name'));
    const { name } = provider;
    if (listed.some(({ provider: other }) => other.name === name))
      throw new InvalidFormError([
        { input: 'name', sentence: 'There is a provider of this name already.', values: {} },
      ]);
    await tryFirst(visit, sent, provider, redirectUriOf(visit, issuer, name));
    await declare(visit, declaring(visit, [provider], true));
    return showDone(visit, {
      title: 'The provider is set up',
      message: 'Its button appears on the sign-in page in a moment.',
      next: pathOfProvider(visit, name),
      label: 'Open this provider',
    });
  },
});

/** Changes a provider that the console has set up. */
export const editProviderPage = formPage<Awaited<ReturnType<typeof providerOf>>>({
  read: providerOf,
  subject: ({ provider }) => provider.displayName ?? provider.name,
  ownerOf: ({ isOurs }) => (isOurs ? undefined : 'file'),
  label: 'Test and save',
  inputs: ({ provider }) => [...inputsOf(provider), ...saveAnyway(true)],
  template: 'provider-form',
  data: ({ redirectUri }) => ({ redirectUri }),
  back: (visit) => pathOfProvider(visit),
  send: async (visit, sent, { provider: present, redirectUri }) => {
    const provider = { ...present, ...providerIn(sent, present.name) };
    const request = declaring(visit, [provider], true);
    await tryFirst(visit, sent, provider, redirectUri);
    const asked = await confirmedBefore(visit, sent, {
      ends: async () => countedEnds(await impactOf(visit, request), 'What ends could not be counted.'),
      title: 'Change this provider?',
      message: 'This change ends something that works now.',
      label: 'Change it',
      back: pathOfProvider(visit),
    });
    if (asked !== undefined) return asked;
    await declare(visit, request);
    return showDone(visit, {
      title: 'The provider is changed',
      message: 'The change applies at once.',
      next: pathOfProvider(visit),
      label: 'Back to this provider',
    });
  },
});
