import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { adminReferenceText } from './admin-reference.ts';
import { readText } from './files.ts';

test('the reference of the administration API has each method with its scope, and no link leads nowhere', async () => {
  const page = await adminReferenceText();
  const methods = globSync('proto/tessera/admin/v1/*.proto').flatMap((path) => {
    const [service = '', ...rest] = readText(path)
      .split(/^service /m)
      .slice(1);
    expect(rest).toEqual([]);
    const name = /^\w+/.exec(service)?.[0] ?? '';
    return [...service.matchAll(/^ {2}rpc (\w+)/gm)].map(([, method = '']) => `${name}/${method}`);
  });
  const sections = [
    ...page.matchAll(
      /^### (\w+\/\w+)\n\n.*; scope `admin\.\w+\.(?:read|write)`(?: or `admin\.\w+\.(?:read|write)`)*$/gm,
    ),
  ];
  expect(sections.map(([, section = '']) => section).toSorted()).toEqual(methods.toSorted());
  const anchors = new Set(
    [...page.matchAll(/^###? (\w+)$/gm)].map(([, heading = '']) => heading.toLowerCase()),
  );
  const links = [...page.matchAll(/\]\(#(\w+)\)/g)].map(([, anchor = '']) => anchor);
  expect(links.length).toBeGreaterThan(50);
  expect(links.filter((anchor) => !anchors.has(anchor))).toEqual([]);
});
