import { randomBytes } from 'node:crypto';
import type { Environment } from './process.ts';

/** The services of the split topology in calling order: a process is started after those that it calls. */
export const services = ['keys', 'directory', 'authorize', 'device', 'token', 'gateway'] as const;
export type Service = (typeof services)[number];

/** The entry of a service's process, or of all in one, below the root of a checkout. */
export const entryOf = (app: string): string => `apps/${app}/src/main.ts`;

/** Where each service finds the others. */
export const peersOf = (addressOf: (service: Service) => string): Environment => ({
  TESSERA_PEERS: services
    .filter((name) => name !== 'gateway')
    .map((name) => `${name}=${addressOf(name)}`)
    .join(' '),
});

/** The keys that the processes of one system share. */
export const newKeys = (): Environment => ({
  TESSERA_KEYS_KEK: randomBytes(32).toString('base64'),
  TESSERA_DIRECTORY_PEPPER: randomBytes(32).toString('base64'),
  TESSERA_TOKEN_REFRESH_KEYS: `1:${randomBytes(32).toString('base64')}`,
});

/** By which processes of one system know one another without certificates. */
export const sharedToken = (): Environment => ({
  TESSERA_RPC_AUTH: 'token',
  TESSERA_RPC_TOKEN: randomBytes(32).toString('base64url'),
});

/** How often a process has said that it applied the declared state. */
export const timesApplied = (output: string): number => output.split('"declared state applied"').length - 1;
