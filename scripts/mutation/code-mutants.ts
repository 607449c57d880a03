import { parseAst } from 'vitest/node';
import type { Edit } from './mutant.ts';

/** A node of the syntax tree (ESTree): its type, its place in the source, and children under their names. */
interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [child: string]: unknown;
}

/** An edit, and the expression or statement that describes it. */
export interface CodeEdit {
  readonly edit: Edit;
  readonly shown: { readonly start: number; readonly end: number };
}

/** A string or template in the source. */
export interface TextNode {
  readonly start: number;
  readonly end: number;
}

type Mutation = (node: SyntaxNode, source: string, parents: readonly SyntaxNode[]) => Edit[];

const comparisons: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
};

const calls: Readonly<Record<string, string>> = { some: 'every', every: 'some', min: 'max', max: 'min' };

const mutations: Readonly<Record<string, Mutation>> = {
  BinaryExpression: (node, source, parents) => {
    // A condition becomes true and false anyway.
    const isOrder = /[<>]/.test(String(node['operator']));
    return isOrder || !isTest(node, parents) ? operatorSwap(node, source, comparisons) : [];
  },
  LogicalExpression: (node, source) => [
    ...operatorSwap(node, source, { '&&': '||', '||': '&&' }),
    ...(node['operator'] === '&&'
      ? [
          replace(node, textOf(child(node, 'right'), source)),
          replace(node, textOf(child(node, 'left'), source)),
        ]
      : []),
  ],
  IfStatement: (node) => truth(node),
  ConditionalExpression: (node) => truth(node),
  UnaryExpression: (node, source, parents) =>
    node['operator'] === '!' && !isTest(node, parents)
      ? [replace(node, textOf(child(node, 'argument'), source))]
      : [],
  // Behind an `if` it is the same as a condition that is false.
  ThrowStatement: (node, _source, parents) =>
    parents[0]?.type === 'IfStatement' ? [] : [replace(node, ';')],
  ExpressionStatement: (node) => (isCall(child(node, 'expression')) ? [replace(node, ';')] : []),
  CallExpression: (node) => {
    const callee = child(node, 'callee');
    const property = callee?.type === 'MemberExpression' ? child(callee, 'property') : undefined;
    const other = calls[String(property?.['name'])];
    return property === undefined || other === undefined ? [] : [replace(property, other)];
  },
  Literal: (node, source, parents) => {
    if (typeof node['value'] === 'boolean') return [replace(node, String(!node['value']))];
    const [parent] = parents;
    const isLimit =
      parent?.type === 'VariableDeclarator' ||
      (parent?.type === 'BinaryExpression' && String(parent['operator']) in comparisons);
    return isLimit && /^[\d_]+$/.test(textOf(node, source))
      ? [replace(node, String(Number(node['value']) + 1))]
      : [];
  },
};

/** The changes to the code of one TypeScript file, and the strings in it. */
export function findCodeEdits(path: string, source: string): { edits: CodeEdit[]; texts: TextNode[] } {
  const edits: CodeEdit[] = [];
  const texts: TextNode[] = [];
  const visit = (node: SyntaxNode, parents: readonly SyntaxNode[]): void => {
    if (isWithoutBehaviour(node, source)) return;
    if (isText(node)) texts.push(node);
    for (const edit of mutations[node.type]?.(node, source, parents) ?? []) {
      const around = {
        Literal: parents[0],
        IfStatement: child(node, 'test'),
        ConditionalExpression: child(node, 'test'),
      };
      edits.push({ edit, shown: around[node.type as keyof typeof around] ?? node });
    }
    for (const each of childrenOf(node)) visit(each, [node, ...parents]);
  };
  visit(parseAst(source, { lang: 'ts' }, path) as unknown as SyntaxNode, []);
  return { edits, texts };
}

/** Types, imports, log lines and places for faults in tests: no test is expected to notice a change there. */
function isWithoutBehaviour(node: SyntaxNode, source: string): boolean {
  if (/^TS(?!As|Satisfies|NonNull)|^Import/.test(node.type)) return true;
  const call = /^(?:super|(?:[\w.]+\.)?(?:failpoint|log(?:ger)?\.\w+))\(/;
  return node.type === 'ExpressionStatement' && call.test(textOf(node, source));
}

/** Whether the node is the whole condition of an `if` or `?:`. */
const isTest = (node: SyntaxNode, [parent]: readonly SyntaxNode[]): boolean => parent?.['test'] === node;

const isText = (node: SyntaxNode): boolean =>
  node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node['value'] === 'string');

const isCall = (node: SyntaxNode | undefined): boolean =>
  node?.type === 'CallExpression' || (node?.type === 'AwaitExpression' && isCall(child(node, 'argument')));

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value;

function child(node: SyntaxNode, name: string): SyntaxNode | undefined {
  const value = node[name];
  return isNode(value) ? value : undefined;
}

const childrenOf = (node: SyntaxNode): SyntaxNode[] => Object.values(node).flat().filter(isNode);

const textOf = (node: TextNode | undefined, source: string): string =>
  node === undefined ? '' : source.slice(node.start, node.end);

const replace = ({ start, end }: TextNode, replacement: string): Edit => ({ start, end, replacement });

const truth = (node: SyntaxNode): Edit[] => {
  const test = child(node, 'test');
  return test === undefined ? [] : [replace(test, 'true'), replace(test, 'false')];
};

function operatorSwap(node: SyntaxNode, source: string, swaps: Readonly<Record<string, string>>): Edit[] {
  const operator = String(node['operator']);
  const other = swaps[operator];
  const left = child(node, 'left');
  if (other === undefined || left === undefined) return [];
  const start = source.indexOf(operator, left.end);
  return [{ start, end: start + operator.length, replacement: other }];
}
