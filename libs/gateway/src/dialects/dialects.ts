import { contract } from './contract.ts';
import { standard } from './standard.ts';

/** The dialect of each media type. */
export const dialectOf = { json: contract, form: standard } as const;
