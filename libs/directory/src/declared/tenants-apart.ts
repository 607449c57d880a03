import { DeclaredText } from './positions.ts';

/** A tenant of a document of several, as a document of its own. */
export interface TenantApart {
  readonly tenantId: string;
  readonly document: string;
  /** What was said of that document, with the places of its keys in the whole one. */
  placed(reason: string): string;
}

/** The tenants of a document without mistakes, each with all that is said outside `tenants`, in their order. */
export function tenantsApart(text: string, fileName: string): readonly TenantApart[] {
  const whole = new DeclaredText(text, fileName);
  const { tenants, ...rest } = whole.values() as { readonly tenants: readonly { readonly id: string }[] };
  const begin = `${fileName}:`;
  return tenants.map((tenant, place) => ({
    tenantId: tenant.id,
    document: JSON.stringify({ ...rest, tenants: [tenant] }),
    placed: (reason) =>
      reason
        .split('\n')
        .map((line) => {
          const found = line.startsWith(begin) ? problemLine.exec(line.slice(begin.length)) : null;
          return found === null ? line : placedLine(whole, place, found);
        })
        .join('\n'),
  }));
}

/** `line:column: key: sentence`, of which the key may lack. */
const problemLine = /^\d+:\d+: (?:tenants\[0\]([^ ]*): )?(.*)$/;

function placedLine(whole: DeclaredText, place: number, [, rest, message = '']: RegExpExecArray): string {
  const steps = (rest ?? '').match(/[^.[\]]+|\[\d+\]/g) ?? [];
  const path = steps.map((step) => (step.startsWith('[') ? Number(step.slice(1, -1)) : step));
  const key = rest === undefined ? '' : `tenants[${place}]${rest}: `;
  const { fileName, line, column } = whole.problem(['tenants', place, ...path], message);
  return `${fileName}:${line}:${column}: ${key}${message}`;
}
