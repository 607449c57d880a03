/** What `kubectl explain` says of fields within others, which the declared state describes with the one around them. */

/** The part of a schema that this file reads and writes. */
interface Described {
  description?: string;
  readonly properties?: Readonly<Record<string, Described>>;
  readonly items?: Described;
  readonly additionalProperties?: Described | boolean;
}

const duration = '`10m`, `30d`, or seconds';

/** By path within an object. */
const words: Readonly<Record<string, string>> = {
  'spec.lifetimes.accessToken': `of access tokens: ${duration}; at most \`1d\``,
  'spec.lifetimes.idToken': `of ID tokens: ${duration}; at most \`1d\``,
  'spec.lifetimes.refreshTokenIdle': `of refresh tokens that are not used: ${duration}`,
  'spec.lifetimes.refreshTokenAbsolute': `of refresh tokens since the sign-in: ${duration}`,
  'spec.lifetimes.sessionRefreshTokenIdle': `of refresh tokens that end with the session and are not used: ${duration}`,
  'spec.lifetimes.sessionRefreshTokenAbsolute': `of refresh tokens that end with the session, since the sign-in: ${duration}`,
  'spec.lifetimes.authorizationRequest': `of device and CIBA requests: ${duration}; at most \`1h\``,
  'spec.lifetimes.authorizationCode': `of authorization codes: ${duration}; at most \`10m\``,
  'spec.lifetimes.pollInterval': `between two polls of a device or CIBA client: ${duration}; at most \`60s\``,
  'spec.ciba.approval': '`page`: people decide at their account. `webhook`: `url` is asked',
  'spec.ciba.url': 'https address that decides, with `approval: webhook`',
  'spec.ciba.delivery': '`poll` (default), or `ping` with `notificationEndpoint`',
  'spec.ciba.notificationEndpoint': 'https address that is told of decisions, with `delivery: ping`',
  'spec.publicKeys.kty': 'key type, `RSA` or `EC` (RFC 7517)',
  'spec.publicKeys.kid': 'name of the key, which assertions give in their header',
  'spec.publicKeys.use': '`sig`',
  'spec.publicKeys.alg': 'the only algorithm of the key, such as `ES256`',
  'spec.publicKeys.crv': 'curve of an `EC` key',
  'spec.publicKeys.x': 'x coordinate of an `EC` key, in base64url',
  'spec.publicKeys.y': 'y coordinate of an `EC` key, in base64url',
  'spec.publicKeys.n': 'modulus of an `RSA` key, in base64url',
  'spec.publicKeys.e': 'exponent of an `RSA` key, in base64url',
  'spec.trusts.issuer':
    '`iss` of the tokens, or the trust domain of SPIFFE IDs; one that the operator lets objects trust',
  'spec.trusts.subject': '`sub` of the tokens, such as `system:serviceaccount:shop:orders`',
  'spec.trusts.audience': '`aud` of the tokens (default: our issuer)',
  'spec.trusts.maxAge': `how long a token is accepted after it was issued: ${duration} (default: until it expires)`,
  'spec.trusts.sharedIdentity':
    '`true` lets every pod of the namespace that names no service account be the application',
  'spec.claims.attribute': 'the attribute of the person that the claim has',
  'spec.claims.roles': '`true` instead: the roles of the person',
  'spec.claims.targets': 'where the claim stands: `idToken`, `accessToken`, `userinfo`',
  'spec.claims.path': 'the names of the objects around the claim, from the outside to the inside',
  'spec.claims.type': 'as what the value is written: `text` (default), `number`, `boolean`, `json`',
  'spec.claims.list': 'of an attribute with several values: `always` a list, or the `first` alone',
  'spec.claims.rolePrefix': 'only the roles that begin with it, without it',
  'spec.scopes.name': 'what clients ask for',
  'spec.scopes.description': 'what it lets an application do; people read it when they are asked for consent',
  'spec.scopes.descriptions': 'the same by language, `{de: ..., ar: ...}`',
  'status.conditions': '`Accepted` and `Ready`',
  'status.conditions.status': '`True`, `False`, or `Unknown` while administration does not answer',
  'status.conditions.reason': 'why, in one word, such as `Written` or `Conflict`',
  'status.conditions.observedGeneration': 'the generation that this is about',
  'status.conditions.lastTransitionTime': 'when `status` changed',
  'status.lastChange.at': 'when it was written',
};

function partsOf({
  properties,
  items,
  additionalProperties: named,
}: Described): Readonly<Record<string, Described>> {
  return properties ?? items?.properties ?? (typeof named === 'object' ? named.properties : undefined) ?? {};
}

/**
 * Describes every field of an object that has no description of its own.
 * @throws Error for a field that nothing describes
 */
export function describeParts(schema: Described, path = ''): void {
  for (const [name, part] of Object.entries(partsOf(schema))) {
    const own = path === '' ? name : `${path}.${name}`;
    const description = part.description ?? words[own];
    if (description === undefined) throw new Error(`Nothing describes ${own}: described-parts.ts.`);
    part.description = description;
    describeParts(part, own);
  }
}
