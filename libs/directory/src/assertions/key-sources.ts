import { readFile } from 'node:fs/promises';
import { isTrustDomain } from '@tessera/oauth';
import type { Fetch } from '@tessera/outbound';
import { z } from 'zod';
import { keptOf, type Jwk } from '../applications/public-keys.ts';
import type { KeySource, LoadedKeys } from './key-sets.ts';

/** Where the operator says that the keys of an issuer are: a file, or an address that may be private. */
export type ConfiguredSource = { readonly file: string } | { readonly address: string };

const minuteMs = 60_000;
const usual = { refreshMs: 10 * minuteMs, keptMs: 60 * minuteMs };
/** A file costs nobody anything, and is replaced at once. */
const ofFiles = { refreshMs: 10_000, keptMs: 60 * minuteMs };
/** So long a bundle is used that cannot be had again; bounds of its hint (SPIFFE Trust Domain and Bundle §4.1.4). */
const bundleKeptMs = 24 * 60 * minuteMs;
const bundleRefresh = { least: 10_000, usual: 5 * minuteMs, most: 60 * minuteMs };
/** The API server of Kubernetes answers 406 if `accept` lacks the type of its keys (RFC 7517 §8.5.2). */
const accept = 'application/json, application/jwk-set+json';
const mostKeys = 100;
const bundleHint = z.object({ spiffe_refresh_hint: z.number().positive().optional() });

export interface KeySources {
  /** Where the keys of an issuer are; undefined if the operator did not say where those of a trust domain are. */
  ofIssuer(issuer: string): KeySource | undefined;
  /** Where an application has its own. */
  at(address: string): KeySource;
  /** Undefined without a cluster. */
  readonly cluster: KeySource | undefined;
}

export function createKeySources(deps: {
  /** By issuer or trust domain. */
  readonly configured: ReadonlyMap<string, ConfiguredSource>;
  /** Asks addresses that others chose. */
  readonly fetch: Fetch;
  readonly allowsPrivate: boolean;
  /** Asks addresses that the operator chose. */
  readonly fetchConfigured: Fetch;
  readonly cluster: { readonly address: string; readonly fetch: Fetch; readonly folder: string } | undefined;
}): KeySources {
  const { configured, fetch, fetchConfigured, allowsPrivate, cluster } = deps;
  return {
    at: (address) => ({
      name: `keys ${address}`,
      server: hostOf(address),
      isConfigured: false,
      load: async () => plain(await json(fetch, address)),
    }),
    ofIssuer(issuer) {
      const source = configured.get(issuer);
      const read = isTrustDomain(issuer) ? bundle : plain;
      const name = `${isTrustDomain(issuer) ? 'bundle' : 'issuer'} ${issuer}`;
      if (source === undefined && isTrustDomain(issuer)) return undefined;
      if (source === undefined)
        return {
          name,
          server: hostOf(issuer),
          isConfigured: false,
          load: () => discovered(issuer, { fetch, allowsPrivate }),
        };
      if ('address' in source)
        return {
          name,
          server: hostOf(source.address),
          isConfigured: true,
          load: async () => read(await json(fetchConfigured, source.address)),
        };
      return {
        name,
        server: name,
        isConfigured: true,
        load: async () => ({ ...read(await ofFile(source.file)), ...ofFiles }),
      };
    },
    cluster: cluster && {
      name: `cluster ${cluster.address}`,
      server: `cluster ${cluster.address}`,
      isConfigured: true,
      load: () => ofCluster(cluster),
    },
  };
}

/** OIDC Discovery §4: keys of the address that the issuer itself names. */
async function discovered(
  issuer: string,
  { fetch, allowsPrivate }: { readonly fetch: Fetch; readonly allowsPrivate: boolean },
): Promise<LoadedKeys> {
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const metadata = z.object({ issuer: z.string(), jwks_uri: z.string() }).parse(await json(fetch, address));
  if (metadata.issuer !== issuer) throw new Error(`the metadata name another issuer: ${metadata.issuer}`);
  if (!metadata.jwks_uri.startsWith('https:') && !allowsPrivate)
    throw new Error('the keys are not at an https URL');
  return plain(await json(fetch, metadata.jwks_uri));
}

/**
 * The issuer of the cluster is what its API server says it is, and its keys are at that server, which asks who we are.
 * Whatever `jwks_uri` says, our token goes nowhere else.
 */
async function ofCluster(cluster: {
  readonly address: string;
  readonly fetch: Fetch;
  readonly folder: string;
}): Promise<LoadedKeys> {
  // It is renewed every hour.
  const token = (await readFile(`${cluster.folder}/token`, 'utf8')).trim();
  const headers = { authorization: `Bearer ${token}` };
  const at = (path: string) => json(cluster.fetch, `${cluster.address}${path}`, headers);
  const { issuer } = z
    .object({ issuer: z.string().min(1) })
    .parse(await at('/.well-known/openid-configuration'));
  return { ...plain(await at('/openid/v1/jwks')), issuer };
}

function plain(document: unknown): LoadedKeys {
  return { keys: keysOf(document).filter(({ use = 'sig' }) => use === 'sig'), ...usual };
}

/** SPIFFE Trust Domain and Bundle §4: keys of another use, or of none, are for something else. */
function bundle(document: unknown): LoadedKeys {
  const keys = keysOf(document).filter(({ use, kid }) => use === 'jwt-svid' && kid !== undefined);
  const { spiffe_refresh_hint: hint } = bundleHint.parse(document);
  const { least, most } = bundleRefresh;
  const refreshMs = hint === undefined ? bundleRefresh.usual : Math.min(Math.max(hint * 1000, least), most);
  return { keys, refreshMs, keptMs: bundleKeptMs };
}

/** Counted and copied before anything else looks at it: of what others publish, nothing more is kept. */
function keysOf(document: unknown): Jwk[] {
  const keys: unknown = (document as { readonly keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys)) throw new Error('there is no JWK Set');
  if (keys.length > mostKeys) throw new Error(`there are more than ${mostKeys} keys`);
  return keys.map(keptOf).filter((key) => key !== undefined);
}

function hostOf(address: string): string {
  return URL.parse(address)?.host ?? address;
}

async function ofFile(file: string): Promise<unknown> {
  return JSON.parse(await readFile(file, 'utf8'));
}

async function json(
  fetch: Fetch,
  address: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const answer = await fetch(address, { headers: { accept, ...headers } });
  if (answer.status !== 200) throw new Error(`${address} answered ${answer.status}`);
  return answer.json();
}
