import type { Gateway } from '../gateway.ts';

/**
 * How a page calls an organization: by its name, or by its identifier where it has none or the name cannot be found
 * out. A sign-in at a page of ours tells no name; the looks do, which the frame of the page has to have anyway.
 * @param told the name, if something else has told it
 */
export async function organizationName(
  { looks }: Pick<Gateway, 'looks'>,
  tenantId: string,
  told = '',
): Promise<string> {
  return told || (await looks.of(tenantId))?.name || tenantId;
}
