import { z } from 'zod';

/** The owner of what a file declares that names none. */
export const fileOwner = 'file';

/** The owner of records that are changed one by one. */
export const apiOwner = 'api';

const named = '[a-z0-9][a-z0-9._:/-]*(?:/\\*)?';
const letters = 'lower-case letters, digits and . _ : / -';

/** An owner, or all whose names begin alike. */
export const owners = z
  .string()
  .max(128)
  .regex(
    new RegExp(`^${named}$`),
    `must be an owner (${letters}), or the beginning of owners with /* at its end`,
  );

/** As `owners`, or everybody. */
export const ownersOrAll = z
  .string()
  .max(128)
  .regex(
    new RegExp(`^(?:\\*|${named})$`),
    `must be an owner (${letters}), the beginning of owners with /* at its end, or *`,
  );

/** Who declares records. */
export const owner = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._:/-]{0,127}$/,
    'must consist of at most 128 lower-case letters, digits and . _ : / -',
  )
  .refine((name) => name !== apiOwner, 'must not be api, which owns what is changed one by one');
