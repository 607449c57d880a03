import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import { otherPaths } from '@tessera/oauth';
import type { Language } from '@tessera/languages';

const directory = fileURLToPath(new URL('../../../views/', import.meta.url));

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

export function loadTemplates(): Templates {
  const style = asset('tessera.css', 'text/css; charset=utf-8');
  const icon = asset('tessera.svg', 'image/svg+xml');
  const approvals = asset('approvals.js', 'text/javascript; charset=utf-8');
  const formPost = asset('form-post.js', 'text/javascript; charset=utf-8');
  const passkey = asset('passkey.js', 'text/javascript; charset=utf-8');
  const recoveryCodes = asset('recovery-codes.js', 'text/javascript; charset=utf-8');
  const eta = new Eta({ views: directory, cache: true, autoEscape: true, autoTrim: [false, 'nl'] });
  return {
    assets: [style, icon, approvals, formPost, passkey, recoveryCodes],
    render: (template, data, { tag, direction, t, html, when }) =>
      eta.render(`./${template}`, {
        language: tag,
        direction,
        t,
        html,
        when,
        style: style.href,
        icon: icon.href,
        approvalsScript: approvals.href,
        formPostScript: formPost.href,
        passkeyScript: passkey.href,
        recoveryCodesScript: recoveryCodes.href,
        ...data,
      }),
  };
}

function asset(file: string, contentType: string): Asset {
  const body = readFileSync(directory + file);
  const version = createHash('sha256').update(body).digest('base64url').slice(0, 12);
  const path = `${otherPaths.assets}/${file}`;
  return { path, href: `${path}?v=${version}`, contentType, body };
}
