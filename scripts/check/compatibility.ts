/**
 * Code for an earlier version says when it goes: "Compatibility until 0.3". Names the pieces that are due at the
 * version of package.json, and comments about the previous version that say no end. `--list` prints all pieces.
 */
import { filesMatching, readText } from './files.ts';
import { report } from './report.ts';

interface Piece {
  readonly place: string;
  /** Undefined: the comment does not say it. */
  readonly until: string | undefined;
}

const { version } = JSON.parse(readText('package.json')) as { version: string };
const comments = /\/\*[^]*?\*\/|(?:^[ \t]*\/\/.*\n)+/gm;
const ends = /\bcompatibility\s+(?:(?:\*|\/\/)\s+)?until\s+(?:(?:\*|\/\/)\s+)?(\d+\.\d+)/gi;
// Tests talk of earlier versions in order to try them; migrations are never changed.
const exempt = /\.(?:test|contract)\.ts$|\/testing\/|^libs\/proto-gen\/|^scripts\/check\//;

const pieces = filesMatching('{apps,libs,scripts,deploy,tools}/**/*.ts', 'proto/**/*.proto')
  .filter((path) => !exempt.test(path))
  .flatMap(piecesIn);

if (process.argv.includes('--list'))
  for (const { until, place } of pieces) console.log(`${until ?? 'no end'}  ${place}`);

report(
  pieces.flatMap(({ place, until }) => {
    if (until === undefined) return [`${place}: says "previous version", not until when`];
    return isDue(until) ? [`${place}: compatibility until ${until} is due`] : [];
  }),
  'Remove what is due; write "Compatibility until <version>" into the comment of what is not.',
);

function piecesIn(path: string): Piece[] {
  const text = readText(path);
  return [...text.matchAll(comments)].flatMap(({ 0: comment, index }): Piece[] => {
    const placeOf = (at: number) => `${path}:${text.slice(0, index + at).split('\n').length}`;
    const found = [...comment.matchAll(ends)].map((match) => ({
      place: placeOf(match.index),
      until: match[1],
    }));
    const at = comment.search(/\bprevious\s+version\b/);
    return found.length > 0 || at < 0 ? found : [{ place: placeOf(at), until: undefined }];
  });
}

/** Whether a version of the form 0.3 has come. */
function isDue(until: string): boolean {
  const [major = 0, minor = 0] = until.split('.').map(Number);
  const [ourMajor = 0, ourMinor = 0] = version.split('.').map(Number);
  return ourMajor > major || (ourMajor === major && ourMinor >= minor);
}
