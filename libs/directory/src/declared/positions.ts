import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type Node,
  type Pair,
} from 'yaml';
import { keyOf, type Path } from '../fields/path.ts';
import { DeclaredStateError, type Problem } from './declared-state-error.ts';

/**
 * A YAML text with the line of each key. One that a program wrote as JSON takes a fiftieth of the time, as the lines
 * are looked for when there is a problem.
 */
export class DeclaredText {
  readonly fileName: string;
  readonly #text: string;
  readonly #json: { readonly value: unknown } | undefined;
  readonly #lines = new LineCounter();
  #document: Document.Parsed | undefined;

  /** Throws DeclaredStateError if the text is not YAML. */
  constructor(text: string, fileName: string) {
    this.fileName = fileName;
    this.#text = text;
    this.#json = writtenAsJson(text);
    if (this.#json === undefined) this.#document = this.#parsed();
  }

  /** Whether it is JSON as `JSON.stringify` writes it. */
  get isJson(): boolean {
    return this.#json !== undefined;
  }

  get document(): Document.Parsed {
    return (this.#document ??= this.#parsed());
  }

  #parsed(): Document.Parsed {
    const document = parseDocument(this.#text, {
      lineCounter: this.#lines,
      prettyErrors: false,
      logLevel: 'error',
    });
    // The parser's own sentences may quote the text, and with it a secret: only its codes are used.
    const mistakes = [...document.errors, ...document.warnings];
    if (mistakes.length === 0) return document;
    throw new DeclaredStateError(
      mistakes.map((mistake) => this.#problem(mistake.pos[0], '', syntaxSentence(mistake.code))),
    );
  }

  /** The values of the text. Throws DeclaredStateError when aliases make it grow without bounds. */
  values(): unknown {
    if (this.#json !== undefined) return this.#json.value;
    try {
      return this.document.toJS({ maxAliasCount: 1000 });
    } catch {
      throw new DeclaredStateError([this.problem([], 'has aliases that cannot be resolved')]);
    }
  }

  /** A problem at the key that `path` names, or at the nearest one above it that exists. */
  problem(path: Path, message: string): Problem {
    let node: Node | null | undefined = this.document.contents;
    let offset = node?.range?.[0] ?? 0;
    for (const step of path) {
      if (isAlias(node)) node = node.resolve(this.document);
      if (isMap<unknown, Node>(node)) {
        const pair: Pair<unknown, Node> | undefined = node.items.find(
          ({ key }) => isScalar(key) && String(key.value) === String(step),
        );
        if (pair === undefined) break;
        if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset;
        node = pair.value;
      } else if (isSeq<Node>(node) && typeof step === 'number') {
        node = node.items[step];
        offset = node?.range?.[0] ?? offset;
      } else break;
    }
    return this.#problem(offset, keyOf(path), message);
  }

  #problem(offset: number, key: string, message: string): Problem {
    const { line, col } = this.#lines.linePos(offset);
    return { fileName: this.fileName, line, column: col, key, message };
  }
}

/**
 * The value of a text that is as `JSON.stringify` writes it, so that nothing of it means something else in YAML: a key
 * that is there twice is refused there.
 */
function writtenAsJson(text: string): { readonly value: unknown } | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(value) === text ? { value } : undefined;
  } catch {
    return undefined;
  }
}

function syntaxSentence(code: string): string {
  if (code === 'DUPLICATE_KEY') return 'a key occurs twice in one place';
  if (code === 'MULTIPLE_DOCS') return 'must be one YAML document';
  if (code === 'TAB_AS_INDENT') return 'is indented with a tab';
  return `is not valid YAML (${code.toLowerCase().replaceAll('_', ' ')})`;
}
