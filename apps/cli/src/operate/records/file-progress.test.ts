import type { DeclaredTenant } from '@tessera/directory';
import { expect, it } from 'vitest';
import { shownProgress } from './file-progress.ts';

const tenant = (id: string, people: number, applications: number) =>
  ({
    id,
    users: Array.from({ length: people }),
    applications: Array.from({ length: applications }),
  }) as unknown as DeclaredTenant;

it('says how much a file of one tenant has', () => {
  const progress = shownProgress('Applying');
  expect(progress.is()).toBe('Applying');
  progress.read([tenant('acme', 12_000, 1)]);
  expect(progress.is()).toBe('Applying acme: 12,000 people, 1 application');
  progress.read([tenant('acme', 0, 0)]);
  expect(progress.is()).toBe('Applying acme');
});

it('says which tenant of several has its turn', () => {
  const progress = shownProgress('Comparing');
  progress.read([tenant('acme', 1, 0), tenant('globex', 0, 2)]);
  expect(progress.is()).toBe('Comparing 2 tenants: 1 person, 2 applications');
  progress.began('globex');
  expect(progress.is()).toBe('Comparing globex, 2 of 2');
});
