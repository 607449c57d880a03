/**
 * Loaded before a process of ours (`node --import`): what Node makes of each module, types stripped and compiled, is kept
 * for the next start, which is then faster and does without the compiler of types in its memory. Entries are found by
 * the content of the module. In the work tree and not in a shared temporary folder, where others could plant code.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/modules', import.meta.url)));
