import { readdirSync, readFileSync } from 'node:fs';

/** Linux reports times to programs in this unit, whatever the kernel's tick. */
const ticksPerSecond = 100;

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly ownTicks: number;
  /** Of terminated children. */
  readonly childrenTicks: number;
}

/** `/proc/<pid>/stat` (proc_pid_stat(5)); undefined if the process has ended. */
function readStat(pid: number): Stat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const at = (position: number): number => Number(fields[position - 3]);
  return {
    pid,
    parent: at(4),
    ownTicks: at(14) + at(15),
    childrenTicks: at(16) + at(17),
  };
}

/** Processor time, user and system, that a process has used so far, in microseconds. */
export const processorTime = (pid: number): number => ((readStat(pid)?.ownTicks ?? 0) * 1e6) / ticksPerSecond;

/** Like `processorTime`, for a process and all its children, terminated ones included. */
export function processorTimeOfTree(root: number): number {
  const all = readAll();
  let ticks = 0;
  const add = (stat: Stat): void => {
    ticks += stat.ownTicks + stat.childrenTicks;
    for (const child of all) if (child.parent === stat.pid) add(child);
  };
  for (const stat of all) if (stat.pid === root) add(stat);
  return (ticks * 1e6) / ticksPerSecond;
}

/** Resident memory in MiB. */
export const residentMemory = (pid: number): number =>
  mebibytes(`/proc/${pid}/status`, /^VmRSS:\s+(\d+) kB$/m);

/** Memory in MiB, pages that several processes share divided among them. */
export const proportionalMemory = (pid: number): number =>
  mebibytes(`/proc/${pid}/smaps_rollup`, /^Pss:\s+(\d+) kB$/m);

const mebibytes = (path: string, line: RegExp): number =>
  Number(line.exec(readFileSync(path, 'latin1'))?.[1] ?? 0) / 1024;

function readAll(): Stat[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((entry) => readStat(Number(entry)))
    .filter((stat) => stat !== undefined);
}
