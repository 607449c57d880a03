import type { Application } from '@tessera/proto-gen/admin-applications';

/** A kind of program, and the application that it is made as. */
export interface ApplicationKind {
  readonly name: string;
  /** A sentence of the languages, as the next one. */
  readonly label: string;
  readonly purpose: string;
  readonly made: Pick<Application, 'type' | 'grantTypes'>;
  /** What it always gets. */
  readonly scopes: readonly string[];
  /** Whether people come back to it after they have signed in. */
  readonly redirects: boolean;
  /** What its redirect URI may be, as an example. */
  readonly example?: string;
}

/** The kinds that can be made, in the order of a page. Each has a snippet of its name in `../views/snippets`. */
export const applicationKinds: readonly ApplicationKind[] = [
  {
    name: 'single-page',
    label: 'Single-page application',
    purpose: 'Runs in the browser. It signs people in and keeps no secret.',
    made: { type: 'public', grantTypes: ['authorization_code'] },
    scopes: ['openid', 'profile', 'email'],
    redirects: true,
    example: 'http://localhost:5173/',
  },
  {
    name: 'web',
    label: 'Web application',
    purpose: 'Runs on a server. It signs people in and keeps a secret.',
    made: { type: 'confidential', grantTypes: ['authorization_code', 'refresh_token'] },
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    redirects: true,
    example: 'https://app.example.com/callback',
  },
  {
    name: 'native',
    label: 'Native application',
    purpose: 'Is installed on a phone or computer. It signs people in with their browser.',
    made: { type: 'public', grantTypes: ['authorization_code', 'refresh_token'] },
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    redirects: true,
    example: 'http://127.0.0.1/',
  },
  {
    name: 'service',
    label: 'Service',
    purpose: 'Acts for itself, without a person. It keeps a secret.',
    made: { type: 'confidential', grantTypes: ['client_credentials'] },
    scopes: [],
    redirects: false,
  },
  {
    name: 'device',
    label: 'Device',
    purpose: 'Has no keyboard or browser. It shows a code that people enter elsewhere.',
    made: { type: 'public', grantTypes: ['device_code', 'refresh_token'] },
    scopes: ['openid', 'profile', 'offline_access'],
    redirects: false,
  },
];

const otherLabels: Readonly<Record<string, string>> = { approvals: 'Asks for approvals', api: 'API' };

/** The labels of all kinds that an application can be of, by their names. */
export const kindLabels: Readonly<Record<string, string>> = {
  ...Object.fromEntries(applicationKinds.map(({ name, label }) => [name, label])),
  ...otherLabels,
};

/** A kind that can be made; undefined for another one. */
export function kindNamed(name: string): ApplicationKind | undefined {
  return applicationKinds.find((kind) => kind.name === name);
}
