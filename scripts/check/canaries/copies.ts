/** Second copies of rules that stand once. */

const policies = [
  [
    'libs/authorize/src/canary-rank.ts',
    "export const f = (policies: string[]) => policies.includes('second-factor');",
  ],
  [
    'libs/directory/src/canary-rank.ts',
    "export const f = (authenticationPolicy: string) => authenticationPolicy === 'any';",
  ],
] as const;

const waysIn = [
  'u.password_hash IS NOT NULL',
  'EXISTS (SELECT FROM directory.passkey p WHERE p.user_id = u.user_id)',
  'NOT EXISTS (SELECT 1 FROM directory.provider_identity i WHERE i.user_id = u.user_id)',
  "${has('provider_identity')}",
];

const active = [
  "u.status = 'active' AND t.status = 'active'",
  "p.status = 'active'\n  AND o.status = 'active'",
];

const counting = ['greatest(u.valid_from, t.valid_from) <= $1', 'u.valid_from > $3'];

const texts = [
  "(id: string) => id.includes('\\0')",
  "(id: string) => id.replaceAll('\\u0000', '')",
  '(id: string) => !id.isWellFormed()',
  '(id: string, isStorable: (text: string) => boolean) => isStorable(id)',
];

const ends = [
  [
    'libs/people/src/canary-end0.ts',
    "appendChanges(tx, [{ kind: 'user' }])",
    /end of a change, written by hand/,
  ],
  ['libs/directory/src/canary-end1.ts', 'appendChanges(tx, changes)', /end of a change, written by hand/],
  ['libs/people/src/canary-end2.ts', "personValidFrom('u')", /issued to a person, written by hand/],
  [
    'libs/people/src/canary-end3.ts',
    '`UPDATE a SET b = 1, valid_from = 2`',
    /issued to a person, written by hand/,
  ],
] as const;

/** Files, by path and text, and what is said of them. */
export const copies: readonly (readonly [path: string, text: string, expect: RegExp])[] = [
  ...policies.map(([path, text]) => [path, text, /table of policies repeated/] as const),
  ...waysIn.map(
    (condition, at) =>
      [
        `libs/${at % 2 === 0 ? 'people' : 'directory'}/src/canary-way${at}.ts`,
        `export const f = (has: (table: string) => string) => \`SELECT ${condition} \${has('a')}\`;`,
        /what lets a person in, asked a second time/,
      ] as const,
  ),
  ...active.map(
    (condition, at) =>
      [
        `libs/${at % 2 === 0 ? 'people' : 'directory'}/src/canary-active${at}.ts`,
        `export const f = () => \`SELECT FROM a WHERE ${condition}\`;`,
        /person and their tenant are active, asked a second time/,
      ] as const,
  ),
  ...counting.map(
    (condition, at) =>
      [
        `libs/${at % 2 === 0 ? 'people' : 'directory'}/src/canary-counting${at}.ts`,
        `export const f = () => \`SELECT FROM a WHERE ${condition}\`;`,
        /sign-in still counts, asked a second time/,
      ] as const,
  ),
  ...texts.map(
    (asked, at) =>
      [
        `libs/${['people', 'directory', 'token', 'admin'][at]}/src/canary-text${at}.ts`,
        `export const f = ${asked};`,
        /what no store takes/,
      ] as const,
  ),
  ...ends.map(([path, end, expect]) => [path, `export const f = () => ${end};`, expect] as const),
];
