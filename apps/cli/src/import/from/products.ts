import { auth0, hashesOfAuth0 } from './auth0.ts';
import { cognito } from './cognito.ts';
import { entra } from './entra.ts';
import { firebase } from './firebase.ts';
import { okta } from './okta.ts';
import type { Product } from './product.ts';
import { supabase } from './supabase.ts';

/** The products whose files are read, by the value of `--from`. */
export const products: Readonly<Record<string, Product>> = {
  auth0,
  cognito,
  entra,
  firebase,
  okta,
  supabase,
};

/** Those that give password hashes away in a file of their own: how it is read, by the former identifier. */
export const hashFiles: Readonly<Record<string, (text: string) => ReadonlyMap<string, string>>> = {
  auth0: hashesOfAuth0,
};
