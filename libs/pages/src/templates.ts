import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import type { Language } from '@tessera/languages';
import { otherPaths } from '@tessera/oauth';

/** The templates and files that all pages share. */
const shared = fileURLToPath(new URL('../views/', import.meta.url));

/** What pages may refer to; everything else in a folder of templates is served to nobody. */
const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A file that pages refer to, with the address that names its content. */
export interface Asset {
  readonly path: string;
  readonly href: string;
  readonly contentType: string;
  readonly body: Buffer;
}

/** The templates and the files they refer to, read once. */
export interface Templates {
  readonly assets: readonly Asset[];
  /** The HTML of a page in a language. Every value is escaped. */
  render(template: string, data: object, language: Language): string;
}

/**
 * Reads the templates of a folder, and ours, whose names begin with `kit/`. Each is named by its path from the folder,
 * wherever it is used: `include('account/profile', it)`, `layout('kit/layout')`. Their files are reached by name:
 * `it.asset('passkey.js')`.
 * @param views ends with a slash
 */
export function loadTemplates(views: string): Templates {
  const assets = new Map([...assetsOf(shared), ...assetsOf(views)]);
  const eta = new Eta({ views, cache: true, autoEscape: true, autoTrim: [false, 'nl'] });
  eta.resolvePath = (template) =>
    template.startsWith('kit/')
      ? join(shared, `${template.slice('kit/'.length)}.eta`)
      : join(views, `${template}.eta`);
  const asset = (file: string) => {
    const found = assets.get(file);
    if (found === undefined) throw new Error(`There is no file ${file} beside the templates.`);
    return found.href;
  };
  return {
    assets: [...assets.values()],
    render: (template, data, language) =>
      eta.render(template, { ...wordsOf(language), ...everywhere, asset, ...data }),
  };
}

/** Of a host without pages that some people may not see. */
const everywhere = { opens: () => true, offers: () => true };

/** What of a language templates have. */
function wordsOf({ tag, direction, t, own, html, when }: Language) {
  return { language: tag, direction, t, own, html, when };
}

function assetsOf(folder: string): [string, Asset][] {
  return readdirSync(folder)
    .toSorted()
    .flatMap((file) => {
      const contentType = contentTypes[extname(file)];
      if (contentType === undefined) return [];
      const body = readFileSync(join(folder, file));
      const version = createHash('sha256').update(body).digest('base64url').slice(0, 12);
      const path = `${otherPaths.assets}/${file}`;
      return [[file, { path, href: `${path}?v=${version}`, contentType, body }]];
    });
}
