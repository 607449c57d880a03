import type { Secret } from '@tessera/kit';
import {
  adminRoles,
  adminScopes,
  builtInPrefix,
  commandLineClientId,
  consoleClientId,
  consolePaths,
  type authenticationPolicies,
} from '@tessera/oauth';
import { hash, timingSafeEqual } from 'node:crypto';
import type { z } from 'zod';
import type { DirectoryConfig } from '../config.ts';
import type { TenantRecord } from '../tenants/fields.ts';
import { desiredOf } from '../fields/field.ts';
import type { FoundApplication } from './found-application.ts';
import { applicationFields, applicationWithoutSecrets } from './fields.ts';

const minute = 60;
const day = 24 * 3600;

/** The policy of logins, or `off` if there are none. */
export type CommandLineLogin = (typeof authenticationPolicies)[number] | 'off';

/** The console: where it is, its secret, and the policy of its sign-ins. */
export interface ConsoleClient {
  /** Absent: there is no console. */
  readonly url: string | undefined;
  readonly secret: Secret | undefined;
  /** Whose tokens prove to be it. */
  readonly identity: { readonly issuer: string; readonly subject: string } | undefined;
  readonly policy: DirectoryConfig['TESSERA_CONSOLE_LOGIN'];
}

export interface BuiltInDeps {
  readonly store: { findTenant(tenantId: string): Promise<TenantRecord | undefined> };
  readonly operatorTenant: string | undefined;
  readonly commandLineLogin: CommandLineLogin;
  readonly console: ConsoleClient;
}

type Given = Omit<z.input<typeof applicationWithoutSecrets>, 'clientId'>;
type Lifetimes = Partial<NonNullable<FoundApplication['application']['lifetimes']>>;

interface BuiltIn {
  readonly clientIdOf: (tenantId?: string) => string;
  /** Undefined where it is switched off. */
  readonly given: (deps: BuiltInDeps) => Given | undefined;
  readonly extraScopes: readonly string[];
  readonly lifetimes: Lifetimes;
}

const ofAdministrators = { allowedRoles: [...adminRoles.keys()] };

const builtIns: readonly BuiltIn[] = [
  {
    clientIdOf: commandLineClientId,
    given: ({ commandLineLogin }) =>
      commandLineLogin === 'off'
        ? undefined
        : {
            ...ofAdministrators,
            name: 'Tessera command line',
            type: 'public',
            grantTypes: ['device_code', 'refresh_token'],
            authenticationPolicy: commandLineLogin,
          },
    extraScopes: ['offline_access'],
    lifetimes: { refreshTokenIdle: 7 * day, refreshTokenAbsolute: 30 * day },
  },
  {
    clientIdOf: consoleClientId,
    given: ({ console: { url, secret, identity, policy } }) =>
      url === undefined || (secret ?? identity) === undefined
        ? undefined
        : {
            ...ofAdministrators,
            name: 'Tessera console',
            type: 'confidential',
            grantTypes: ['authorization_code'],
            redirectUris: [url + consolePaths.base + consolePaths.callback],
            // `npm start` takes a free port.
            loopbackPorts: isLoopback(url) ? 'any' : 'exact',
            authenticationPolicy: policy,
          },
    extraScopes: ['openid', 'profile'],
    // Its access tokens are not refreshed: so soon the console notices that the person has signed out.
    lifetimes: { accessToken: 5 * minute },
  },
];

/**
 * An application that every tenant has without a record, for its administrators: the command line, and the console
 * where there is one. Undefined for every other client id.
 */
export async function builtInApplication(
  clientId: string,
  deps: BuiltInDeps,
): Promise<FoundApplication | undefined> {
  const found = foundIn(clientId);
  const given = found?.builtIn.given(deps);
  if (found === undefined || given === undefined) return undefined;
  const tenantId = found.tenantId ?? deps.operatorTenant;
  const tenant = tenantId === undefined ? undefined : await deps.store.findTenant(tenantId);
  if (tenant === undefined) return undefined;
  const { extraScopes, lifetimes } = found.builtIn;
  const scopes = [...extraScopes, ...adminScopes.keys()];
  const declared = applicationWithoutSecrets.omit({ clientId: true }).parse({ ...given, scopes });
  const application = desiredOf(applicationFields, { ...declared, clientId }, undefined);
  return {
    application: {
      ...application,
      lifetimes: { ...application.lifetimes, ...lifetimes },
      owner: 'built-in',
    },
    scopes: scopes.map((name) => ({
      name,
      audience: '',
      description: '',
      descriptions: {},
      resourceName: '',
      tokenType: '',
      scopeFormat: '',
      signingAlgorithm: '',
      roles: [],
    })),
    tenant,
    validFrom: 0,
  };
}

/** Whether a secret is the console's; undefined for a client id that is none of its own. */
export function isSecretOfConsole(
  { clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string },
  { url, secret }: ConsoleClient,
): boolean | undefined {
  if (foundIn(clientId)?.builtIn.clientIdOf !== consoleClientId) return undefined;
  if (url === undefined || secret === undefined) return false;
  const digest = (text: string) => hash('sha256', text, 'buffer');
  return timingSafeEqual(digest(clientSecret), digest(secret.reveal()));
}

/**
 * The console whose client id was sent with a token of this issuer and subject, if they are those of the setting.
 * Undefined for every other client id.
 */
export async function consoleOfToken(
  { clientId, issuers, subject }: { clientId: string; issuers: readonly string[]; subject: string },
  deps: BuiltInDeps,
): Promise<FoundApplication | undefined> {
  const { identity } = deps.console;
  if (foundIn(clientId)?.builtIn.clientIdOf !== consoleClientId || identity === undefined) return undefined;
  const isMeant = issuers.includes(identity.issuer) && subject === identity.subject;
  return isMeant ? builtInApplication(clientId, deps) : undefined;
}

/** The application of a client id, and the tenant that it names. */
function foundIn(clientId: string): { builtIn: BuiltIn; tenantId: string | undefined } | undefined {
  if (!clientId.startsWith(builtInPrefix)) return undefined;
  for (const builtIn of builtIns) {
    const own = builtIn.clientIdOf();
    if (clientId === own) return { builtIn, tenantId: undefined };
    if (clientId.startsWith(`${own}.`)) return { builtIn, tenantId: clientId.slice(own.length + 1) };
  }
  return undefined;
}

function isLoopback(url: string): boolean {
  return ['127.0.0.1', '[::1]'].includes(new URL(url).hostname);
}
