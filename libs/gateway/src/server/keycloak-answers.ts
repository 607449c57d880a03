import { createPublicKey } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  defaultSigningAlgorithm,
  keycloakCookieCheck,
  keycloakProfile,
  keycloakRealm,
  otherPaths,
  type PublicJwk,
} from '@tessera/oauth';
import { userinfo } from '../endpoints/userinfo.ts';
import type { Gateway } from '../gateway.ts';
import { sendJson } from '../http/answers.ts';
import { cookieCheckPage, crossOriginHeaders } from '../http/headers.ts';

/**
 * What applications that were made for Keycloak ask besides its endpoints. Each path is reached by the name that
 * Keycloak has for it alone, below an issuer with its paths.
 */
export function addKeycloakAnswers(
  app: FastifyInstance,
  gateway: Gateway,
  addPreflight: (app: FastifyInstance, path: string, methods: ReadonlySet<string>) => void,
): void {
  app.register(async (scope) => {
    scope.addHook('preHandler', async (request, reply) => {
      if (!request.incoming.isKeycloakPath) return reply.callNotFound();
    });
    scope.get(keycloakCookieCheck, async (_request, reply) =>
      reply.headers(cookieCheckPage.headers).type('text/html; charset=utf-8').send(cookieCheckPage.text),
    );
    scope.register(async (readable) => {
      readable.addHook('onRequest', async (request, reply) => {
        if (request.incoming.isKeycloakPath) crossOriginHeaders(request, reply);
      });
      for (const [path, answer] of [
        [keycloakRealm, realm],
        [keycloakProfile, profile],
      ] as const) {
        readable.get(path, async (request, reply) =>
          sendJson(reply, JSON.stringify(await answer(request, reply, gateway))),
        );
        addPreflight(readable, path, new Set(['GET', 'OPTIONS']));
      }
    });
  });
}

/**
 * `GET` of the issuer itself: a realm as Keycloak publishes it, with the newest RSA key as its readers take it, base64
 * of DER. Throws `temporarily_unavailable` without keys.
 */
async function realm({ incoming }: FastifyRequest, reply: FastifyReply, gateway: Gateway): Promise<object> {
  const issuer = incoming.issuer();
  const keySet = gateway.keySets.of(incoming.tenant);
  const { keys } = JSON.parse(keySet.fresh() ?? (await keySet.document())) as { keys: PublicJwk[] };
  const key = keys.find(({ alg }) => alg === defaultSigningAlgorithm);
  reply.header('cache-control', `public, max-age=${gateway.config.TESSERA_JWKS_MAX_AGE}`);
  return {
    realm: issuer.slice(issuer.lastIndexOf('/') + 1),
    ...(key && {
      public_key: createPublicKey({ key, format: 'jwk' })
        .export({ format: 'der', type: 'spki' })
        .toString('base64'),
    }),
    'token-service': `${issuer}/protocol/openid-connect`,
    'account-service': issuer + otherPaths.account,
    'tokens-not-before': 0,
  };
}

/** The claims that Keycloak's profile names otherwise. */
const names = {
  sub: 'id',
  preferred_username: 'username',
  given_name: 'firstName',
  family_name: 'lastName',
  email: 'email',
  email_verified: 'emailVerified',
} as const;

/** `GET /account` with an access token: what `/userinfo` says of the person, by the names of Keycloak's profile. */
async function profile(request: FastifyRequest, reply: FastifyReply, gateway: Gateway): Promise<object> {
  const claims = Object.entries(await userinfo(request, reply, gateway));
  return Object.fromEntries(
    claims.flatMap(([name, value]) =>
      Object.hasOwn(names, name) ? [[names[name as keyof typeof names], value as unknown]] : [],
    ),
  );
}
