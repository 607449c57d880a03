/** The drawing on top of each library's index.ts exists, and names folders and files that do. */
import { basename, dirname } from 'node:path';
import { filesMatching, readText } from './files.ts';
import { report } from './report.ts';

report(
  filesMatching('libs/*/src/index.ts').flatMap(problemsOf),
  'Draw in the first comment, indented by five spaces, what the library is made of and who calls whom.',
);

function problemsOf(path: string): string[] {
  const [comment = ''] = /^\/\*\*[^]*?\*\//.exec(readText(path)) ?? [];
  const drawing = comment.split('\n').filter((line) => line.startsWith(' *     '));
  if (drawing.length < 3) return [`${path}: has no drawing`];
  const files = filesMatching(`${dirname(path)}/**/*.ts`);
  const names = new Set([
    ...files.map((file) => basename(file, '.ts')),
    ...files.flatMap((file) => dirname(file).split('/')),
  ]);
  // A name with a dash or a slash at its end can only be one of ours; other words may be anything.
  const drawn = drawing.flatMap(
    (line) => line.match(/(?<![\w/])[a-z]+(?:-[a-z]+)+|[a-z-]+(?=\/(?!\/))/g) ?? [],
  );
  return [...new Set(drawn)]
    .filter((name) => !names.has(name))
    .map((name) => `${path}: draws ${name}, which does not exist`);
}
