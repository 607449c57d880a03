import { join } from 'node:path';
import { run } from '../../apps/cli/src/run.ts';

const state = join(import.meta.dirname, '../tessera.yaml');

export type Type = 'confidential' | 'public';
export const types: readonly Type[] = ['confidential', 'public'];

/** The API resource of a configuration; `two` leaves the choice to `tessera client-config`. */
export type Api = 'none' | 'orders' | 'billing' | 'two';
export const apis: readonly Api[] = ['none', 'orders', 'billing', 'two'];

export interface Variant {
  readonly type: Type;
  readonly api: Api;
}

/** The application of `tessera.yaml` for a variant. */
export function clientIdOf({ type, api }: Variant, withoutPkce: boolean): string {
  const pkce = withoutPkce && type === 'confidential' ? '-without-pkce' : '';
  return `${type}${pkce}${api === 'none' ? '-without-api' : ''}`;
}

/** What `tessera client-config` prints, or its reason to refuse. */
export async function printed(
  clientId: string,
  stack: string,
  api: Api,
  issuer: string,
): Promise<{ readonly text: string } | { readonly reason: string }> {
  const args = ['client-config', clientId, stack, '-f', state, '--issuer', issuer];
  if (api === 'orders' || api === 'billing') args.push('--resource', `https://${api}.acme.example`);
  let text = '';
  let said = '';
  const code = await run(args, {
    environment: {},
    out: (part) => (text += part),
    say: (part) => (said += part),
    input: async () => '',
    sleep: async () => undefined,
    now: () => Date.now(),
    fetch,
  });
  return code === 0 ? { text } : { reason: said.trim().replaceAll('\n', ' ') };
}

/** What a stack must refuse, said again apart from its own rules. */
interface Limits {
  readonly type?: Type;
  readonly api?: 'needed' | 'unused';
  readonly other?: (variant: Variant) => RegExp | undefined;
}

const client: Limits = { type: 'confidential' };
const server: Limits = { api: 'needed' };
const limits: Readonly<Record<string, Limits>> = {
  'auth-js': client,
  passport: client,
  'express-openid-connect': client,
  authlib: client,
  'requests-oauthlib': client,
  'mozilla-django-oidc': client,
  'flask-oidc': client,
  'go-oidc': client,
  kubelogin: { type: 'public', api: 'unused' },
  'oauth2-proxy': client,
  'spring-boot': client,
  'spring-boot-jwt': {
    ...server,
    other: ({ api }) => (api === 'billing' ? /Declare tokenType: JWT at https:\/\/billing/ : undefined),
  },
  'spring-boot-opaque': { ...client, ...server },
  rust: client,
  'go-api': server,
  'python-api': server,
  dotnet: client,
  'dotnet-api': server,
  nginx: server,
  caddy: server,
  traefik: server,
  envoy: server,
  kubernetes: { api: 'unused', other: () => /Use an issuer with https/ },
};

/** The reason that must be given; undefined if the configuration must be printed. */
export function reasonToRefuse(stack: string, variant: Variant): RegExp | undefined {
  const { type, api, other } = limits[stack] ?? {};
  const isChosen = variant.api === 'orders' || variant.api === 'billing';
  if (api === 'unused' && isChosen) return /Leave out --resource/;
  if (type !== undefined && type !== variant.type) {
    const isNamed = stack === 'spring-boot-opaque' && isChosen;
    return isNamed ? /Declare introspectAudiences/ : new RegExp(`Declare type: ${type}`);
  }
  if (api === 'needed' && variant.api === 'none') return /Declare (a scope of an API|introspectAudiences)/;
  return other?.(variant);
}
