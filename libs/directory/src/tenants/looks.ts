import { z } from 'zod';
import { uri } from '../fields/values.ts';
import { forDarkPages, isReadable, type Scheme } from './contrast.ts';

/** Bytes of a logo, which every page loads. */
const largestLogo = 16 * 1024;
/** Pixels of its longer side: a small file may be a huge picture. */
const longestSide = 1024;

const logoPrefix = 'data:image/png;base64,';
const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Why it is no logo; undefined if it is one. PNG alone: browsers run nothing that is in it. */
function logoProblem(value: string): string | undefined {
  const encoded = value.slice(logoPrefix.length);
  if (!value.startsWith(logoPrefix) || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded))
    return `must be a PNG image, as ${logoPrefix}...`;
  const image = Buffer.from(encoded, 'base64');
  if (image.length > largestLogo) return 'must have at most 16 KiB';
  // PNG §11.2.1: the signature, then the chunk IHDR, which begins with width and height.
  const hasHeader =
    image.length > 33 &&
    image.subarray(0, 8).equals(signature) &&
    image.toString('latin1', 12, 16) === 'IHDR';
  if (!hasHeader) return `must be a PNG image, as ${logoPrefix}...`;
  const sides = [image.readUInt32BE(16), image.readUInt32BE(20)];
  return sides.some((side) => side > longestSide)
    ? `must have at most ${longestSide} pixels a side`
    : undefined;
}

function color(scheme: Scheme) {
  return z
    .string()
    .regex(/^#[0-9a-f]{6}$/, 'must be a colour such as "#3d52d5", in lower case')
    .refine(
      (value) => !/^#[0-9a-f]{6}$/.test(value) || isReadable(value, scheme),
      `must have a contrast of at least 4.5:1 with ${scheme} pages (WCAG 2.2, AA)`,
    )
    .default('');
}

const link = uri((value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isPlain = url?.protocol === 'https:' && url.username === '' && url.password === '';
  return isPlain && /^[!-~]+$/.test(value) ? undefined : 'must be an https URL';
});

/** The usual ones. */
export const noLooks = { logo: '', accentColor: '', accentColorDark: '', tosUri: '', policyUri: '' };

/** Logo, colours and links of a tenant's pages. */
export const looks = z
  .strictObject({
    logo: z
      .string()
      .max(logoPrefix.length + Math.ceil(largestLogo / 3) * 4 + 4)
      .superRefine((value, context) => {
        const problem = logoProblem(value);
        if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
      })
      .default(''),
    accentColor: color('light'),
    accentColorDark: color('dark'),
    tosUri: link.max(2048).default(''),
    policyUri: link.max(2048).default(''),
  })
  .default(noLooks);

type Looks = z.infer<typeof looks>;

/**
 * What pages need of them: an image, empty without one, and a colour for dark pages wherever there is one for light
 * ones.
 */
export function sentLooks({ logo, accentColor, accentColorDark, ...links }: Looks) {
  return {
    ...links,
    logo: Buffer.from(logo.slice(logoPrefix.length), 'base64'),
    accentColor,
    accentColorDark:
      accentColorDark === '' && accentColor !== '' ? forDarkPages(accentColor) : accentColorDark,
  };
}
