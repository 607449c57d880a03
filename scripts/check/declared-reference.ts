/**
 * The tables of keys in the reference of the declared state: `npm run generate` writes them from the tables of fields.
 */
import { format, resolveConfig } from 'prettier';
import { reference } from '../../libs/directory/src/declared/reference.ts';
import { readText } from './files.ts';

export const referenceFile = 'libs/directory/README.md';

/** The file with its tables as they have to be. Throws if it has no place for one. */
export async function referenceText(): Promise<string> {
  const text = Object.entries(reference).reduce((text, [kind, rows]) => {
    const [begin, end] = [`<!-- keys of ${kind} -->`, '<!-- end -->'];
    const [before, rest] = text.split(begin);
    const after = rest?.slice(rest.indexOf(end));
    if (before === undefined || after === undefined) throw new Error(`${referenceFile} has no ${begin}`);
    const lines = rows.map(({ key, isOptional, text }) => `| \`${key}${isOptional ? '?' : ''}\` | ${text} |`);
    return `${before}${begin}\n\n| Key | Value |\n| --- | --- |\n${lines.join('\n')}\n\n${after}`;
  }, readText(referenceFile));
  return format(text, { ...(await resolveConfig(referenceFile)), parser: 'markdown' });
}
