import { expect, it } from 'vitest';
import { reportPage } from './report-page.ts';

it('a report has no names of people, and keeps those of user federations', () => {
  const leftOut = [
    'user federation ldap: has no counterpart; its people are not in the file',
    'user federation of user ada: has no counterpart; they sign in with a password of their own',
    'password of user federation of bob: is a placeholder',
    'user federation of carol: email: is taken',
  ];
  const page = reportPage({
    tenantId: 'acme',
    time: '2026-01-01T00:00:00Z',
    isDryRun: true,
    stage: 'checked',
    lists: { counts: [], arrived: [], toDo: [], leftOut },
    applications: [],
    toDo: [],
    people: { total: 0, disabled: 0, withoutPassword: 0, ready: 0 },
  });
  expect([...page.matchAll(/<li>(.*)<\/li>/g)].map(([, text]) => text)).toEqual([
    leftOut[0],
    'user federation of a person: has no counterpart; they sign in with a password of their own',
    'password of a person: is a placeholder',
    'a person: is taken',
  ]);
});
