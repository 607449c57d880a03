import { z } from 'zod';

/** The owner of what a file declares that names none. */
export const fileOwner = 'file';

/** The owner of records that are changed one by one. */
export const apiOwner = 'api';

/** Who declares records. */
export const owner = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._:/-]{0,127}$/,
    'must consist of at most 128 lower-case letters, digits and . _ : / -',
  )
  .refine((name) => name !== apiOwner, 'must not be api, which owns what is changed one by one');
