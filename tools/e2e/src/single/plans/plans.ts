import type { Client } from 'pg';
import { smallTables } from './large-tables.ts';

/** A node of `EXPLAIN (FORMAT JSON, VERBOSE)`, as far as it is read here. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly Schema?: string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Filter?: string;
  readonly Plans?: readonly PlanNode[];
}

const scans: ReadonlySet<string> = new Set(['Seq Scan', 'Index Scan', 'Index Only Scan', 'Sample Scan']);

/**
 * The large tables that a statement can only read from one end to the other: no index serves its condition, and no
 * LIMIT stops it. What the planner prefers for small tables is forbidden to it.
 */
export async function tablesReadWhole(
  client: Client,
  { text, values = [] }: { readonly text: string; readonly values?: readonly string[] },
): Promise<readonly string[]> {
  await client.query(`
    SET plan_cache_mode = force_custom_plan;
    SET enable_seqscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    PREPARE asked AS ${text}`);
  try {
    const given = values.length === 0 ? '' : `(${values.join(', ')})`;
    const { rows } = await client.query<{ readonly 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>(
      `EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE asked${given}`,
    );
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    return plan === undefined ? [] : [...new Set(wholeScans(plan, false))];
  } finally {
    await client.query('DEALLOCATE asked');
  }
}

function wholeScans(node: PlanNode, limited: boolean): readonly string[] {
  const table = `${node.Schema ?? ''}.${node['Relation Name'] ?? ''}`;
  const whole =
    scans.has(node['Node Type']) &&
    node['Relation Name'] !== undefined &&
    node['Index Cond'] === undefined &&
    !smallTables.has(table) &&
    !(limited && node.Filter === undefined);
  // A sort reads everything before a LIMIT above it can stop it.
  const stops = node['Node Type'] === 'Limit' || (limited && !/Sort|Aggregate|Hash/u.test(node['Node Type']));
  const below = (node.Plans ?? []).flatMap((each) => wholeScans(each, stops));
  return whole ? [table, ...below] : below;
}
