/** What a table is filled with. */
export interface Filling {
  readonly table: string;
  readonly rows: number;
  /** What each column is in the row `i`: SQL. */
  readonly columns: Readonly<Record<string, string>>;
}

export const filling = (table: string, rows: number, columns: Filling['columns']): Filling => ({
  table,
  rows,
  columns,
});

/** How many there are of what, and the SQL of what several tables have. */
export interface Spread {
  readonly rows: number;
  readonly tenants: number;
  readonly applications: number;
  readonly tenant: string;
  readonly user: string;
  readonly earlier: string;
  readonly later: string;
  readonly hash: string;
  readonly uuid: string;
}

/** @param rows of people, sessions and so on; a tenth as many applications and a hundredth as many tenants */
export function spreadOf(rows: number): Spread {
  const tenants = Math.max(1, Math.floor(rows / 100));
  const earlier = `now() - i * interval '30 days' / ${rows}`;
  return {
    rows,
    tenants,
    applications: Math.max(1, Math.floor(rows / 10)),
    tenant: `'t' || i % ${tenants}`,
    user: `'usr_' || i`,
    earlier,
    later: `${earlier} + interval '20 days'`,
    hash: `sha256(i::text::bytea)`,
    uuid: `md5(i::text)::uuid`,
  };
}
