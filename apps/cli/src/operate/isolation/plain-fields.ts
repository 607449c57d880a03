import type { DescField } from '@bufbuild/protobuf';
import { isClaim } from '../../records/field-help.ts';

/**
 * Fields that name nothing of a tenant, besides claims of people: what records say, and how a call works. A field whose
 * name means something else elsewhere is written with its message.
 */
const plain: ReadonlySet<string> = new Set(
  `accentColor accentColorDark actor approval assignableBy attribute audiences authenticatedStart
  authenticationPolicy backchannelLogoutUri country delivery description descriptions endpoints event fileName formatted
  DeclaredClaim.list DeclaredClaim.path DeclaredClaim.rolePrefix DeclaredTrust.audience DeclaredTrust.subject
  Application.kind ListApplicationsRequest.kind
  grantTypes homepage idTokenClaims idTokenSigningAlgorithm issuer jwksUri kinds locality logo maxAge logoutRedirectUriPrefixes logoutRedirectUris
  loopbackPorts name notificationEndpoint outcome owner owners passkeyDomain password passwordHash pkce
  policyUri postalCode publicKeys publisher purpose reason redirectUriPrefixes redirectUris region registration
  registrationDomains scopeFormat sharedIdentity signingAlgorithm signInMethods status streetAddress targets tokenType
  tosUri type url value`.split(/\s+/),
);

/** Whether a field of a request names nothing of a tenant, so that it may have any value. */
export const isPlain = ({ localName, parent }: DescField): boolean =>
  plain.has(localName) || plain.has(`${parent.name}.${localName}`) || isClaim(localName);
