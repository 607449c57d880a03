import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The root of the checkout, where the commands of guides are typed. */
export const checkout = join(import.meta.dirname, '../../../..');

/** A page of docs/ that leads through numbered steps. */
export interface Guide {
  /** What is typed at a step, line by line. Throws if there is nothing. */
  step(number: number): readonly string[];
  /** The first block of YAML. Throws if there is none. */
  readonly yaml: string;
  readonly steps: number;
}

export function readGuide(name: string): Guide {
  const page = readFileSync(join(checkout, 'docs', name), 'utf8');
  const yaml = block(page, 'yaml');
  const steps = page.split(/^\*\*(?=\d+\.)/m).slice(1);
  return {
    steps: steps.length,
    get yaml() {
      if (yaml === undefined) throw new Error(`docs/${name} has no YAML`);
      return yaml;
    },
    step(number) {
      const text = steps.find((step) => step.startsWith(`${number}.`));
      const commands = text === undefined ? undefined : block(text, 'sh');
      if (commands === undefined) throw new Error(`docs/${name} has no step ${number} with commands`);
      return commands
        .replaceAll(/\\\n\s*/g, '')
        .trim()
        .split('\n');
    },
  };
}

const block = (text: string, language: string): string | undefined =>
  new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(text)?.[1];
