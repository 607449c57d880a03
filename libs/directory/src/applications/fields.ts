import {
  audienceOfEntry,
  authenticationPolicies,
  builtInPrefix,
  grantTypes,
  isBuiltIn,
  isGivenUserId,
  logoutRedirectUriProblem,
  redirectUriPrefixProblem,
  redirectUriProblem,
  scopesWithClaims,
  weakestPolicy,
} from '@tessera/oauth';
import { ApplicationType } from '@tessera/proto-gen/directory';
import { z } from 'zod';
import { columnsOf } from '../fields/columns.ts';
import { field, referenceOf, shapeOf, type RecordOf } from '../fields/field.ts';
import { ownersOrAll } from '../fields/owner.ts';
import { statusSent } from '../fields/status.ts';
import { callbackUri, lifetime, line, uri } from '../fields/values.ts';
import { resourceFields } from '../resources/fields.ts';
import { claims, claimsSent } from './mapped-claims.ts';
import { proofFields } from './proof-fields.ts';
import { shownFields } from './shown-fields.ts';
import { secrets, type SecretRecord } from '../secrets/declared-secrets.ts';

const outlivedByKeys = ', so that no token outlives the key that signed it';
const types = { public: ApplicationType.PUBLIC, confidential: ApplicationType.CONFIDENTIAL } as const;

/** That the audience of an entry with roles is not; any other entry is an audience itself, which says so already. */
const isNotBuiltIn = (entry: string): boolean =>
  audienceOfEntry(entry) === entry || !isBuiltIn.audience(audienceOfEntry(entry));

/** The fields of an application, in the order of the reference and of the declared state that is written. */
export const applicationFields = {
  clientId: field({
    schema: z
      .string()
      .max(128)
      .regex(/^[A-Za-z0-9][A-Za-z0-9._:@/~+-]*$/, 'must consist of letters, digits and . _ : @ / ~ + -')
      .refine((id) => isGivenUserId(id), 'must not begin with usr_, which is for users')
      .refine(
        (id) => !id.startsWith(builtInPrefix),
        `must not begin with ${builtInPrefix}, which is for built-in applications`,
      ),
    stored: 'text',
    reference:
      'letters, digits and `. _ : @ / ~ + -`; not beginning with `usr_` or `tessera.`; unique over all tenants',
  }),
  name: field({ schema: line(200), stored: 'text', reference: 'text' }),
  ...shownFields,
  type: field({
    schema: z.enum(['public', 'confidential']),
    stored: 'text',
    sent: (type) => ({ type: types[type] }),
    reference: '`public` or `confidential`',
  }),
  status: field({
    schema: z.enum(['active', 'disabled']).optional(),
    initial: 'active',
    stored: 'text',
    sent: statusSent,
    reference: '`active`, `disabled`',
  }),
  grantTypes: field({
    schema: z.array(z.enum(grantTypes.map((entry) => entry.name))).min(1),
    stored: 'text[]',
    reference:
      'of `authorization_code`, `refresh_token`, `client_credentials` (confidential only), `device_code`, `ciba`, `jwt_bearer` (with `trusts`)',
  }),
  redirectUris: field({
    schema: z.array(uri(redirectUriProblem)).max(100).default([]),
    stored: 'text[]',
    reference: 'compared byte for byte, but for the port with `loopbackPorts: any`',
  }),
  loopbackPorts: field({
    schema: z.enum(['exact', 'any']).default('exact'),
    stored: 'text',
    sent: (ports) => ({ anyLoopbackPort: ports === 'any' }),
    reference:
      '`exact` (default), or `any`: redirect URIs with `http` on `127.0.0.1`, `[::1]` or `localhost` match with every port (RFC 8252 §7.3), ' +
      'for native applications and command lines that listen on a free one',
  }),
  logoutRedirectUris: field({
    schema: z.array(uri(logoutRedirectUriProblem)).max(100).default([]),
    stored: 'text[]',
    reference: 'compared byte for byte; the first one is the fallback',
  }),
  redirectUriPrefixes: field({
    schema: z.array(uri(redirectUriPrefixProblem)).max(20).default([]),
    stored: 'text[]',
    reference:
      'beginnings of redirect URIs, such as `https://app.example/`, for applications made for Keycloak that send the address of their page; ' +
      'only with `endpoints: keycloak` of the tenant, and with PKCE ([what to know](../../docs/adr/0117-beginnings-of-redirect-uris.md))',
  }),
  logoutRedirectUriPrefixes: field({
    schema: z.array(uri(redirectUriPrefixProblem)).max(20).default([]),
    stored: 'text[]',
    reference: 'the same for redirect URIs after a logout; never the fallback',
  }),
  scopes: field({
    schema: z.array(z.string()).default([]),
    stored: 'text[]',
    // The message has them with what their resources say about them.
    sent: () => ({}),
    reference:
      'built-in scopes, scopes of the tenant, and those [of administrators](../../docs/operations.md#administration-over-http)',
  }),
  defaultScopes: field({
    schema: z.array(z.string()).default([]),
    stored: 'text[]',
    reference:
      'of the `scopes`, those that it gets whatever it asks for, as with `defaultClientScopes` of Keycloak; not `offline_access`, nor scopes for ' +
      'this server itself. One of another resource than what is asked for is left out. Default: none',
  }),
  audiences: field({
    schema: z.array(resourceFields.audience.schema.refine(isNotBuiltIn, 'is built in')).max(20).default([]),
    stored: 'text[]',
    reference:
      'further `aud` of its access tokens, in a tenant with `endpoints: keycloak` alone: its own `clientId`, which oauth2-proxy asks for, or ' +
      'other texts, such as `account`; `orders:*` is `orders` in tokens with a role that begins with `orders:`. Whoever is one of them can use the tokens at the others',
  }),
  introspectAudiences: field({
    schema: z.array(z.string()).default([]),
    stored: 'text[]',
    reference:
      "audiences of the tenant's resources that this application answers for: it may introspect their tokens",
  }),
  lifetimes: field({
    schema: z
      .strictObject({
        accessToken: lifetime('1d', outlivedByKeys),
        idToken: lifetime('1d', outlivedByKeys),
        refreshTokenIdle: lifetime('3650d'),
        refreshTokenAbsolute: lifetime('3650d'),
        sessionRefreshTokenIdle: lifetime('90d'),
        sessionRefreshTokenAbsolute: lifetime('90d'),
        authorizationRequest: lifetime('1h'),
        authorizationCode: lifetime('10m'),
        pollInterval: lifetime('60s'),
      })
      .default({
        accessToken: 0,
        idToken: 0,
        refreshTokenIdle: 0,
        refreshTokenAbsolute: 0,
        sessionRefreshTokenIdle: 0,
        sessionRefreshTokenAbsolute: 0,
        authorizationRequest: 0,
        authorizationCode: 0,
        pollInterval: 0,
      }),
    stored: {
      type: 'integer',
      columns: {
        accessToken: 'access_token_lifetime',
        idToken: 'id_token_lifetime',
        refreshTokenIdle: 'refresh_token_idle_lifetime',
        refreshTokenAbsolute: 'refresh_token_absolute_lifetime',
        sessionRefreshTokenIdle: 'session_refresh_token_idle_lifetime',
        sessionRefreshTokenAbsolute: 'session_refresh_token_absolute_lifetime',
        authorizationRequest: 'authorization_request_lifetime',
        authorizationCode: 'authorization_code_lifetime',
        pollInterval: 'poll_interval',
      },
    },
    reference:
      '`accessToken`, `idToken`, `refreshTokenIdle`, `refreshTokenAbsolute`, `sessionRefreshTokenIdle`, `sessionRefreshTokenAbsolute` ' +
      '(of refresh tokens that [end with the session](../../docs/integrating.md#tenant-issuers), if they shall end before it), ' +
      '`authorizationRequest` (device and CIBA requests), `authorizationCode`, `pollInterval` (of devices and CIBA clients): `10m`, `30d`, or seconds; at most `1d` for `accessToken` ' +
      'and `idToken`, `1h` for `authorizationRequest`, `10m` for `authorizationCode`, `60s` for `pollInterval`',
  }),
  ciba: field({
    schema: z
      .strictObject({
        approval: z.enum(['page', 'webhook']).transform((approval): '' | 'page' | 'webhook' => approval),
        url: callbackUri.default(''),
        delivery: z.enum(['poll', 'ping']).default('poll'),
        notificationEndpoint: callbackUri.default(''),
      })
      .default({ approval: '', url: '', delivery: 'poll', notificationEndpoint: '' }),
    stored: {
      type: 'text',
      columns: {
        approval: 'ciba_approval',
        url: 'ciba_url',
        delivery: 'ciba_delivery',
        notificationEndpoint: 'ciba_notification_endpoint',
      },
    },
    reference:
      '`{approval: page}` or `{approval: webhook, url}`; without it the `ciba` grant is refused when it starts. `delivery?`: `poll` ' +
      '(default), or `ping` with `notificationEndpoint`, an https address',
  }),
  authenticatedStart: field({
    schema: z.enum(['optional', 'required']).default('optional'),
    stored: 'text',
    sent: (start) => ({ authenticatedStartRequired: start === 'required' }),
    reference:
      '`optional` (default), or `required`: a confidential application must authenticate when it starts a device or backchannel ' +
      'request; the strict profile always requires it',
  }),
  allowedRoles: field({
    // Never declared as empty: to block all users, disable the application.
    schema: z.array(z.string()).min(1).default([]),
    stored: 'text[]',
    reference:
      'roles of the tenant, at least one: only people who hold one of them may use the application; without it everybody of the ' +
      'tenant may',
  }),
  roles: field({
    // Never declared as empty: that would be all.
    schema: z.array(z.string()).min(1).default([]),
    stored: 'text[]',
    reference:
      'roles of the tenant, at least one: of the roles of a person, its tokens and `/userinfo` have these alone; without it all. For people ' +
      'with hundreds of roles, whose tokens servers refuse',
  }),
  pkce: field({
    schema: z.enum(['required', 'optional']).default('required'),
    stored: 'text',
    sent: (pkce) => ({ pkceOptional: pkce === 'optional' }),
    reference:
      '`required` (default) or `optional`: a confidential application may then leave out the code challenge; one that it sends ' +
      'must be met',
  }),
  backchannelLogoutUri: field({
    schema: callbackUri.default(''),
    stored: 'text',
    reference:
      'https address that [is notified of ended sessions](../../docs/interface.md#back-channel-logout), for the ' +
      '`authorization_code` grant',
  }),
  backchannelLogoutSessionRequired: field({
    schema: z.boolean().default(false),
    stored: 'boolean',
    reference: 'whether `backchannelLogoutUri` needs `sid` (default `false`; always sent)',
  }),
  claims: field({
    schema: claims,
    stored: 'jsonb',
    sent: claimsSent,
    reference:
      'up to 20 claims by name, each `{attribute, targets}` or `{roles: true, targets}`, with `targets` of `idToken`, `accessToken`, ' +
      '`userinfo`; [further](#claims) `path`, `type`, `list`, `rolePrefix`; each attribute in two at most, roles in ten; no claims of the protocol (`sub`, `scope`, `role`, ...) and no standard claims',
  }),
  idTokenClaims: field({
    schema: z.array(z.enum(scopesWithClaims)).default([]),
    stored: 'text[]',
    reference:
      'of `profile`, `email`, `phone`, `address`, each among the `scopes`: if it is granted, its claims are in the ID token too, as ' +
      'at `/userinfo` (OIDC Core §5.4). For clients that read nothing else, such as Dex; ID tokens grow and are logged and stored in ' +
      'more places, so the default is none',
  }),
  owners: field({
    schema: z.array(ownersOrAll).max(100).default([]),
    stored: 'text[]',
    reference:
      '[owners](#owners) whose records its own access tokens may write by the administration API: names, ' +
      'beginnings such as `k8s:shop/*`, or `*` for every one (default `api`)',
  }),
  thirdParty: field({
    schema: z.boolean().default(false),
    stored: 'boolean',
    reference:
      'whether it is not of the company: it asks people for their consent, once and when it asks for more (default `false`)',
  }),
  authenticationPolicy: field({
    schema: z.enum(authenticationPolicies).default(weakestPolicy),
    stored: 'text',
    reference:
      "what its sign-ins and approvals need, as for tenants: the stronger one of the tenant's and its own counts (default `any`); not with `ciba.approval: webhook`, which has no sign-in",
  }),
  ...proofFields,
};

const declaredKeys = { ...applicationFields, secrets };

/** An application in the declared state. */
export const application = z.strictObject(shapeOf(declaredKeys));
/** The same without its secrets. */
export const applicationWithoutSecrets = z.strictObject(shapeOf(applicationFields));
export type DeclaredApplication = z.infer<typeof application>;

export const applicationReference = referenceOf(declaredKeys);

export interface ApplicationRecord extends RecordOf<typeof applicationFields> {
  /** Who changes the record. */
  readonly owner: string;
  /** In order of creation; new ones come last, as declared. */
  readonly secrets: readonly SecretRecord[];
}

export const applicationColumns = columnsOf<Omit<ApplicationRecord, 'secrets'>>(
  { ...applicationFields, owner: { stored: 'text' } },
  'clientId',
  'a',
);
