import type { Entry } from '../../files/imported.ts';
import type { Report } from '../realm/realm.ts';
import type { Client } from '../realm/representation.ts';

/** What an application may ask for tokens with. */
export interface Grants {
  readonly grantTypes: readonly string[];
  /** Whether people sign in. */
  readonly hasPeople: boolean;
  /** Keys of the grants themselves. */
  readonly keys: Entry;
  /** Why the application cannot be used as it is. */
  readonly reasons: readonly string[];
  /** What it lacks, and can be used without. */
  readonly lacks: readonly string[];
}

const exactOnes = 'say them with --redirect-uris, or give it some and the grant authorization_code here';
const noneLeft = `no exact redirect URI is left; ${exactOnes}`;
const implicitAlone = 'it signs people in by the implicit flow, which has no counterpart; let it use codes';
const passwordAlone =
  'it signs people in by the password grant, which has no counterpart; give it redirect URIs and the grant authorization_code';

/**
 * The grants of a client, at least one if anything of it can be used later on. Reports flows without a counterpart.
 * @param redirectUris those that are left
 */
export function grantsOf(client: Client, redirectUris: readonly string[], report: Report): Grants {
  const { attributes, publicClient, standardFlowEnabled, implicitFlowEnabled } = client;
  const isOn = (attribute: string) => attributes[attribute] === 'true';
  const hasDevices = isOn('oauth2.device.authorization.grant.enabled');
  const isService = client.serviceAccountsEnabled && !publicClient;
  const hasCiba = isOn('oidc.ciba.grant.enabled') && !publicClient;
  const hasOther = hasDevices || isService || hasCiba;
  const hasRedirects = redirectUris.length > 0;
  const isImplicit = implicitFlowEnabled && !standardFlowEnabled && !hasOther;
  const hasCodes = (standardFlowEnabled || isImplicit) && hasRedirects;
  const lacksRedirects = (standardFlowEnabled || isImplicit) && !hasRedirects;
  const isPassword =
    client.directAccessGrantsEnabled && !standardFlowEnabled && !implicitFlowEnabled && !hasOther;
  const waits = (lacksRedirects && !hasOther) || isPassword;
  const hasPeople = hasCodes || hasDevices || hasCiba || waits;
  reportFlows(client, { isImplicit, isPassword, hasCiba }, report);
  const refreshes = attributes['use.refresh.tokens'] !== 'false';
  const grants = {
    authorization_code: hasCodes,
    // Without a grant there is no application to give redirect URIs.
    refresh_token: waits || (hasPeople && refreshes),
    device_code: hasDevices,
    client_credentials: isService,
    ciba: hasCiba,
  };
  return {
    grantTypes: Object.entries(grants).flatMap(([name, isGranted]) => (isGranted ? [name] : [])),
    hasPeople,
    keys: hasCiba ? { ciba: { approval: 'page' } } : {},
    reasons: [
      ...(lacksRedirects && waits ? [noneLeft] : []),
      ...(isImplicit ? [implicitAlone] : []),
      ...(isPassword ? [passwordAlone] : []),
    ],
    lacks: [
      ...(lacksRedirects && !waits ? [`signs nobody in by redirect: ${noneLeft}`] : []),
      ...(hasCiba ? ['its backchannel requests (CIBA) are approved at /approvals'] : []),
    ],
  };
}

interface Known {
  readonly isImplicit: boolean;
  readonly isPassword: boolean;
  readonly hasCiba: boolean;
}

function reportFlows(client: Client, { isImplicit, isPassword, hasCiba }: Known, report: Report): void {
  const { clientId, attributes, authorizationServicesEnabled, authorizationSettings } = client;
  const isOn = (attribute: string) => attributes[attribute] === 'true';
  for (const [name, isUsed] of [
    ['implicit flow', client.implicitFlowEnabled && !isImplicit],
    ['password grant', client.directAccessGrantsEnabled && !isPassword],
    ['CIBA of a public client, which proves nothing,', isOn('oidc.ciba.grant.enabled') && !hasCiba],
    ['notification by CIBA ping', hasCiba && attributes['ciba.backchannel.token.delivery.mode'] === 'ping'],
    ['token exchange', isOn('standard.token.exchange.enabled')],
    ['authorization services', authorizationServicesEnabled || authorizationSettings !== undefined],
  ] as const)
    if (isUsed) report(`${name} of application ${clientId}: has no counterpart`);
}
