import { globSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What a run covers, by the names in its table. The statements are in the files of the other areas and in those of
 * `SQL`.
 */
export const areas = {
  grants: ['libs/token/src/grants/*.ts', 'libs/token/src/usable.ts', 'libs/authorize/src/codes/codes.ts'],
  'request pipeline': ['libs/token/src/pipeline/*.ts'],
  'refresh rotation': ['libs/token/src/refresh-token-format.ts', 'libs/token/src/store/*.ts'],
  'device and CIBA polling': [
    'libs/device/src/polling/*.ts',
    'libs/device/src/store/*.ts',
    'libs/device/src/approval/approval.ts',
    'libs/device/src/start/*.ts',
  ],
  sessions: [
    'libs/authorize/src/sessions/*.ts',
    'libs/authorize/src/interaction/present-person.ts',
    'libs/authorize/src/logout/end-session.ts',
    'libs/authorize/src/store/*store*.ts',
  ],
  'client authentication': [
    'libs/directory-client/src/client-authentication/*.ts',
    'libs/oauth/src/request/client-authentication.ts',
    'libs/token/src/authenticate-client.ts',
  ],
  administration: ['libs/admin/src/access/*.ts'],
  people: ['libs/people/src/*/**/*.ts'],
  records: ['libs/directory/src/{apply,calls,endings,plans,providers,secrets,store,users}/**/*.ts'],
  SQL: [
    'libs/{authorize,device,token,keys,directory,people}/src/**/*.postgres.ts',
    'libs/audit/src/audit-insert.ts',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Area = keyof typeof areas;

/** The files of each area, from `root`; no tests, and each file in the first area that names it. */
export function filesOfAreas(root: string): Map<string, Area> {
  const files = new Map<string, Area>();
  for (const [area, patterns] of Object.entries(areas) as [Area, readonly string[]][]) {
    for (const path of globSync([...patterns], { cwd: root }).toSorted()) {
      if (!/\.(?:test|contract)\.ts$/.test(path) && !files.has(path)) files.set(path, area);
    }
  }
  return files;
}

/** The folder of the tests that can notice a change: those of the package. */
export const testsOf = (path: string): string => join(...path.split('/').slice(0, 2), '/');
