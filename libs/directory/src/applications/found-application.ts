import type { RecordOf } from '../fields/field.ts';
import type { tokenFields } from '../resources/fields.ts';
import type { TenantRecord } from '../tenants/fields.ts';
import type { ApplicationRecord } from './fields.ts';

type TokenFields = RecordOf<typeof tokenFields>;

/** What a resource says about a scope; empty for a built-in one. */
type OfResource = {
  readonly [K in keyof TokenFields]: TokenFields[K] extends readonly unknown[]
    ? TokenFields[K]
    : TokenFields[K] | '';
};

export interface FoundScope extends OfResource {
  readonly name: string;
  readonly audience: string;
  readonly description: string;
  /** By language. */
  readonly descriptions: Readonly<Record<string, string>>;
  readonly resourceName: string;
}

export interface FoundApplication {
  readonly application: Omit<ApplicationRecord, 'secrets'>;
  /** In the order of the application's registration. */
  readonly scopes: readonly FoundScope[];
  readonly tenant: TenantRecord;
  /** Earlier sign-ins are invalid for this application; seconds since the Unix epoch. */
  readonly validFrom: number;
}
