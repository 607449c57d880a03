import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { eventWords } from './event-words.ts';

const document = readFileSync(new URL('../../../../../docs/audit.md', import.meta.url), 'utf8');

it('says in words what every event of the trail is', () => {
  const heads = [...document.matchAll(/^- ((?:`[a-z_.]+`(?:, )?)+): /gm)].map(([, head = '']) => head);
  const events = heads
    .flatMap((head) => [...head.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
    .filter((name) => name.includes('.'));
  expect(events.length).toBeGreaterThan(100);
  expect([...new Set(events)].toSorted()).toEqual(Object.keys(eventWords).toSorted());
});
