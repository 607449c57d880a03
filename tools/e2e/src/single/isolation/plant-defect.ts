/** `node --import` this file: the modules of a process load with the edits of the variable, and no file is changed. */
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { SourceEdit } from './planted-defects.ts';

const edits = JSON.parse(process.env['PLANTED_EDITS'] ?? '[]') as readonly SourceEdit[];
const root = fileURLToPath(new URL('../../../../../', import.meta.url));

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const path = url.startsWith('file:') ? fileURLToPath(url) : '';
    const here = edits.filter(({ file }) => path === root + file);
    if (here.length === 0) return loaded;
    let source =
      typeof loaded.source === 'string'
        ? loaded.source
        : new TextDecoder().decode(loaded.source ?? undefined);
    for (const { file, text, replacement } of here) {
      const parts = source.split(text);
      if (parts.length !== 2) throw new Error(`${file} has ${text} ${parts.length - 1} times`);
      source = parts.join(replacement);
    }
    return { ...loaded, source };
  },
});
