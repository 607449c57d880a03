import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  announcedByShared,
  authorizationServerMetadata,
  contractMetadata,
  declaresNothing,
  OAuthError,
  type ServedFacts,
} from '@tessera/oauth';
import type { GatewayConfig } from '../config.ts';
import type { Gateway } from '../gateway.ts';

/** Issuers whose documents are kept encoded; an inferred issuer may come with any port. */
const maxDocuments = 32;

function encodedOnce(
  build: (issuer: string, served: ServedFacts) => object,
): (issuer: string, served: ServedFacts) => string {
  const documents = new Map<string, string>();
  return (issuer, served) => {
    const { endpoints = 'standard', deliveryModes, uiLocales, declared = declaresNothing } = served;
    const { idTokenAlgorithms, authenticationMethods, grantTypes } = declared;
    const uses = [idTokenAlgorithms, authenticationMethods, grantTypes].map((names) => names.join(','));
    const key = [issuer, endpoints, ...deliveryModes, '', ...uiLocales, '', ...uses].join(' ');
    let document = documents.get(key);
    if (document === undefined) {
      if (documents.size >= maxDocuments) documents.clear();
      document = JSON.stringify(build(issuer, served));
      documents.set(key, document);
    }
    return document;
  };
}

const contractDocument = encodedOnce(contractMetadata);
const serverDocument = encodedOnce(authorizationServerMetadata);

async function served(
  { incoming: { tenant } }: FastifyRequest,
  { deliveryModes, languages, tenants }: Gateway,
): Promise<ServedFacts> {
  const declared = tenants.declaredUseAt(tenant?.tenantId ?? '');
  return {
    deliveryModes: await deliveryModes.current(),
    uiLocales: languages.tags,
    declared: tenant === undefined ? announcedByShared(declared, 'complete') : declared,
    ...(tenant && { endpoints: tenants.endpointsOf(tenant.tenantId) }),
  };
}

function cacheFor(gateway: Gateway): string {
  return `public, max-age=${gateway.config.TESSERA_JWKS_MAX_AGE}`;
}

/** An answer that was made for one host must not be given to another by a cache on the way. */
function cacheHeader({ incoming }: FastifyRequest, gateway: Gateway): string {
  return gateway.issuer.explicit || incoming.tenant !== undefined ? cacheFor(gateway) : 'no-store';
}

/** Whether `/.well-known/openid-configuration` has the content of `/.well-known/oauth-authorization-server`. */
function isComplete({ TESSERA_DISCOVERY, TESSERA_PROFILE }: GatewayConfig): boolean {
  return (TESSERA_DISCOVERY ?? (TESSERA_PROFILE === 'strict' ? 'complete' : 'contract')) === 'complete';
}

/**
 * `GET /.well-known/openid-configuration` (OIDC Discovery §4): the contract's document, or the complete one by setting
 * or profile. 500 when issuer or keys cannot be resolved.
 */
export async function openidConfiguration(
  request: FastifyRequest,
  reply: FastifyReply,
  gateway: Gateway,
): Promise<string> {
  try {
    const issuer = request.incoming.issuer();
    const { tenant } = request.incoming;
    const keySet = gateway.keySets.of(tenant);
    if (keySet.fresh() === undefined) await keySet.document();
    // The contract describes the shared issuer; a tenant's own announces everything.
    const complete = tenant !== undefined || isComplete(gateway.config);
    const document = complete
      ? serverDocument(issuer, await served(request, gateway))
      : contractDocument(issuer, {
          deliveryModes: [],
          uiLocales: gateway.languages.tags,
          declared: announcedByShared(gateway.tenants.declaredUseAt(''), 'contract'),
        });
    reply.header('cache-control', cacheHeader(request, gateway));
    return document;
  } catch (error) {
    throw new OAuthError('server_error', 'The issuer or the keys cannot be resolved.', { cause: error });
  }
}

/** `GET /.well-known/oauth-authorization-server` (RFC 8414 §3). */
export async function oauthAuthorizationServer(
  request: FastifyRequest,
  reply: FastifyReply,
  gateway: Gateway,
): Promise<string> {
  const document = serverDocument(request.incoming.issuer(), await served(request, gateway));
  reply.header('cache-control', cacheHeader(request, gateway));
  return document;
}

/** `GET /.well-known/jwks.json` (RFC 7517 §5): names no host, but does not answer for a forged one. */
export async function jwks(request: FastifyRequest, reply: FastifyReply, gateway: Gateway): Promise<string> {
  request.incoming.issuer();
  const keySet = gateway.keySets.of(request.incoming.tenant);
  const document = keySet.fresh() ?? (await keySet.document());
  reply.header('cache-control', cacheFor(gateway));
  return document;
}

/**
 * `GET /.well-known/webauthn` (WebAuthn L3 §5.11): the origins that may use the passkeys of this host. Only the shared
 * issuer's has others.
 */
export async function relatedOrigins(
  request: FastifyRequest,
  reply: FastifyReply,
  gateway: Gateway,
): Promise<object> {
  if (request.incoming.tenant !== undefined) throw new OAuthError('not_found', 'Not found.');
  request.incoming.issuer();
  const origins = await gateway.relatedOrigins();
  reply.header('cache-control', 'public, max-age=60');
  return { origins };
}
