import type { Runtime } from '@tessera/process';
import { epochSeconds } from '@tessera/kit';
import {
  accessTokenClaims,
  audienceOfEntry,
  audiencesIn,
  audiencesWithRoles,
  claimNamesOf,
  claimsOfUser,
  defaultSigningAlgorithm,
  entitledClaims,
  idTokenClaims,
  isForThisServer,
  isSigningAlgorithm,
  issuesLikeKeycloak,
  largeToken,
  likeKeycloaksAccessToken,
  likeKeycloaksIdToken,
  mappedClaims,
  namedRoles,
  resourcesIn,
  withScopeText,
  type AccessTokenClaims,
  type SigningAlgorithmName,
} from '@tessera/oauth';
import { metrics, type RepeatedWarnings } from '@tessera/telemetry';
import { TokenType } from '@tessera/proto-gen/keys';
import type { Application, GrantedScope, User } from '@tessera/proto-gen/directory';
import type { UserGrant } from '@tessera/proto-gen/oauth';
import type { Exchange } from './grant-table.ts';
import type { Signer, SigningTask } from './batched-signer.ts';

type MappedTarget = 'accessToken' | 'idToken';

/** Subject, scope and resource of the tokens to issue. */
export interface Authorization {
  /** Undefined if the client acts on its own behalf. */
  readonly subject: { readonly grant: UserGrant; readonly user: User } | undefined;
  readonly scopes: readonly string[];
  /** The named resource, else those of the granted API scopes (`resourcesIn`); empty if there is neither. */
  readonly resource: string;
}

export interface IssuedTokens {
  readonly accessToken: string;
  /** Seconds. */
  readonly expiresIn: number;
  /** Several with spaces between. */
  readonly audience: string;
  /** Empty if `openid` was not granted. */
  readonly idToken: string;
}

export interface IssuingDeps {
  readonly runtime: Pick<Runtime, 'clock'>;
  readonly signer: Signer;
  readonly warnings: RepeatedWarnings;
  /** Defaults for applications without lifetimes of their own, in seconds. */
  readonly accessTokenSeconds: number;
  readonly idTokenSeconds: number;
}

/**
 * Issues the access token (RFC 9068 §2) and, if `openid` was granted, the ID token (OIDC Core §2). `keys` signs both in
 * one call and adds `at_hash`, the hash of the signed access token, to the ID token.
 */
export async function issueTokens(
  deps: IssuingDeps,
  exchange: Exchange,
  { subject, scopes, resource }: Authorization,
): Promise<IssuedTokens> {
  const { clientId, tenantId, lifetimes } = exchange.application;
  const now = epochSeconds(deps.runtime.clock);
  // Never earlier than the sign-in: its time is up to a second ahead if it follows a change that ended earlier
  // sign-ins.
  const issuedAt = Math.max(now, Math.min(subject?.grant.authentication?.time ?? 0, now + 1));
  const issuer = subject?.grant.issuer ?? exchange.issuer;
  // A tenant with an issuer of its own has keys of its own.
  const signingTenant = exchange.tenant.issuer === '' ? '' : tenantId;
  const expiresIn = lifetimes?.accessToken || deps.accessTokenSeconds;
  const { application } = exchange;
  const likeKeycloak = issuesLikeKeycloak(exchange.tenant) && !isForThisServer(scopes, resource);
  const further = likeKeycloak ? application.audiences : [];
  const held = namedRoles(subject?.user.roles ?? [], application.roles);
  const limiting = [...resourcesIn(resource), ...further.map(audienceOfEntry)];
  const limits = shapesOf(application, limiting).map(({ roles }) => roles);
  const rolesOf = (target: MappedTarget) => (target === 'accessToken' ? namedRoles(held, ...limits) : held);
  const claims = accessTokenClaims({
    issuer,
    subject: subject?.user.userId ?? clientId,
    clientId,
    tenantId,
    scopes,
    roles: rolesOf('accessToken'),
    resource,
    audiences: audiencesWithRoles(further, rolesOf('accessToken')),
    issuedAt,
    lifetime: expiresIn,
    tokenId: exchange.tokenId,
    authentication: subject?.grant.authentication,
    userinfoClaims: scopes.includes('openid') ? (subject?.grant.userinfoClaims ?? []) : [],
  });
  // Services have no claims, but for those that applications made for Keycloak read of every token.
  const source = subject?.user ?? (likeKeycloak ? {} : undefined);
  const mapped = (target: MappedTarget) =>
    source && mappedClaims(application.claims, { ...source, roles: rolesOf(target) }, target, likeKeycloak);
  const payload = likeKeycloak
    ? likeKeycloaksAccessToken(claims, {
        sessionId: subject?.grant.sessionId ?? '',
        person: subject?.user,
      })
    : undefined;
  const tasks = [
    accessTokenTask(claims, { mapped: mapped('accessToken'), likeKeycloak: payload }, application),
  ];
  if (subject !== undefined && scopes.includes('openid')) {
    const { authentication = { time: 0, methods: [] }, nonce, sessionId } = subject.grant;
    const idClaims = idTokenClaims({
      issuer,
      subject: subject.user.userId,
      clientId,
      issuedAt,
      lifetime: lifetimes?.idToken || deps.idTokenSeconds,
      authentication,
      nonce,
      accessToken: undefined,
      sessionId,
    });
    const standard = claimsOfUser(subject.user, [
      ...claimNamesOf(application.idTokenClaims.filter((scope) => scopes.includes(scope))),
      ...entitledClaims(subject.grant.idTokenClaims, application.scopes),
    ]);
    tasks.push({
      type: TokenType.ID_TOKEN,
      claims: {
        ...mapped('idToken'),
        ...standard,
        ...(likeKeycloak ? likeKeycloaksIdToken(idClaims) : idClaims),
      },
      atHashOf: 0,
      algorithm: idTokenAlgorithmOf(application),
    });
  }
  const [accessToken = '', idToken = ''] = await deps.signer.sign(tasks, exchange.call(), signingTenant);
  noteSize(deps, 'access_token', accessToken, application);
  noteSize(deps, 'id_token', idToken, application);
  return { accessToken, expiresIn, audience: audiencesIn(claims.aud).join(' '), idToken };
}

/**
 * An access token in the shape that its API resource declares, or as Keycloak has it, signed as its resources declare
 * alike. One for the issuer itself has the defaults.
 * @param of the mapped claims, and the payload that is as Keycloak's; undefined where there is none
 */
function accessTokenTask(
  claims: AccessTokenClaims,
  {
    mapped,
    likeKeycloak,
  }: { readonly mapped: object | undefined; readonly likeKeycloak: object | undefined },
  application: Application,
): SigningTask {
  const [shape, ...others] = shapesOf(application, audiencesIn(claims.aud));
  const payload = likeKeycloak ?? (shape?.scopeFormat === 'string' ? withScopeText(claims) : claims);
  const { signingAlgorithm = '' } = shape ?? {};
  const algorithm = others.every((other) => other.signingAlgorithm === signingAlgorithm)
    ? signingAlgorithm
    : '';
  const isJwt = likeKeycloak !== undefined || shape?.tokenType === 'JWT';
  return {
    type: isJwt ? TokenType.ID_TOKEN : TokenType.ACCESS_TOKEN,
    algorithm: isSigningAlgorithm(algorithm) ? algorithm : defaultSigningAlgorithm,
    claims: mapped === undefined ? payload : { ...mapped, ...payload },
  };
}

/** Of its ID tokens, and of its logout tokens (Back-Channel Logout §2.4). */
export function idTokenAlgorithmOf({
  idTokenSigningAlgorithm: name,
}: Pick<Application, 'idTokenSigningAlgorithm'>): SigningAlgorithmName {
  return isSigningAlgorithm(name) ? name : defaultSigningAlgorithm;
}

/** What the API resources of these audiences say about their access tokens; nothing for the issuer itself. */
function shapesOf({ scopes }: Application, audiences: readonly string[]): GrantedScope[] {
  return audiences.flatMap((audience) => scopes.find((scope) => scope.audience === audience) ?? []);
}

const largeTokens = metrics.counter({
  name: 'tessera_large_tokens_total',
  help: 'Tokens issued that are longer than many servers accept in a header (8 KiB).',
  labels: ['type'],
});

/** Tells operators of a token that others may refuse, without the token. */
function noteSize(
  { warnings }: IssuingDeps,
  type: 'access_token' | 'id_token',
  token: string,
  { clientId, tenantId }: Application,
): void {
  if (token.length <= largeToken) return;
  largeTokens.labels(type).inc();
  warnings.warn(
    `${type} of ${clientId}`,
    { type, clientId, tenantId, bytes: token.length },
    'issued a token that servers may refuse; declare roles of the application or resource, or fewer claims',
  );
}
