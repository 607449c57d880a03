import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { chartDirectory } from './chart.ts';

const directory = mkdtempSync(join(tmpdir(), 'tessera-alerts-'));
afterAll(() => rmSync(directory, { recursive: true }));

const promtool = (...args: string[]) =>
  execFileSync(process.env['TESSERA_TEST_PROMTOOL'] ?? 'promtool', args, { encoding: 'utf8', stdio: 'pipe' });
const rules = join(chartDirectory, 'alerts.yaml');

interface Case {
  /** Series in the notation of promtool, one value a minute. */
  readonly series: Readonly<Record<string, string>>;
  readonly alert: string;
  /** Minutes after the first value. */
  readonly at: number;
  /** Labels of the alerts that fire. */
  readonly fires: readonly Readonly<Record<string, string>>[];
}

/** Throws what promtool prints if other alerts fire; it compares labels and annotations. */
function holds({ series, alert, at, fires }: Case, summary: string): void {
  const exp_alerts = fires.map((exp_labels) => ({ exp_labels, exp_annotations: { summary } }));
  const file = join(directory, 'case.yaml');
  const test = {
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [{ eval_time: `${at}m`, alertname: alert, exp_alerts }],
  };
  writeFileSync(file, stringify({ rule_files: [rules], evaluation_interval: '1m', tests: [test] }));
  try {
    promtool('test', 'rules', file);
  } catch (error) {
    throw new Error(String((error as { stdout?: string }).stdout), { cause: error });
  }
}

test('Prometheus takes the alerts', () => {
  expect(promtool('check', 'rules', rules)).toContain('SUCCESS');
});

describe('An alert', () => {
  const gateway = 'namespace="id",pod="gateway-1",process="gateway"';
  const build = (labels: string, version = '0.2.0') => `tessera_build_info{${labels},version="${version}"}`;

  test('is raised by a total outage: every pod is gone after normal work', () => {
    const series = {
      [build(gateway)]: '1x10 stale',
      'tessera_http_requests_total{namespace="id",pod="gateway-1",status="200",endpoint="/token"}':
        '0+600x10 stale',
      'up{job="tessera-metrics",namespace="id",pod="gateway-1"}': '1x10 0x180',
    };
    const summary = 'No replica of a process can be reached by Prometheus.';
    const fires = [{ severity: 'critical', namespace: 'id', process: 'gateway' }];
    const alert = 'TesseraDown';
    holds({ series, alert, at: 10, fires: [] }, summary);
    holds({ series, alert, at: 60, fires }, summary);
    holds({ series, alert, at: 180, fires }, summary);
  });

  test('is not raised by one replica that goes while another stays', () => {
    const other = gateway.replace('gateway-1', 'gateway-2');
    const series = { [build(gateway)]: '1x10 stale', [build(other)]: '1x120' };
    holds({ series, alert: 'TesseraDown', at: 60, fires: [] }, '');
  });

  test('is raised when no replica is ready, and not when one is', () => {
    const ready = (pod: string) => `tessera_ready{namespace="id",pod="${pod}",process="token"}`;
    const summary = 'No replica of a process is ready.';
    const fires = [{ severity: 'critical', namespace: 'id', process: 'token' }];
    const alert = 'TesseraNotReady';
    holds({ series: { [ready('1')]: '0x30', [ready('2')]: '0x30' }, alert, at: 10, fires }, summary);
    holds({ series: { [ready('1')]: '0x30', [ready('2')]: '1x30' }, alert, at: 10, fires: [] }, summary);
  });

  describe('for a pod that does not get ready while others serve', () => {
    const alert = 'TesseraPodNotReady';
    const summary = 'A pod has not been ready for 15 minutes.';
    const target = (pod: string) => `container="token",endpoint="management",namespace="id",pod="${pod}"`;
    const ready = (pod: string) => `tessera_ready{${target(pod)},process="token"}`;
    const up = (pod: string) => `up{${target(pod)}}`;
    const old = { [ready('old')]: '1x60', [up('old')]: '1x60' };
    const fires = [{ severity: 'warning', namespace: 'id', pod: 'new', process: 'token' }];

    test('is raised after 15 minutes, and not before', () => {
      const series = { ...old, [ready('new')]: '0x60', [up('new')]: '1x60' };
      holds({ series, alert, at: 14, fires: [] }, summary);
      holds({ series, alert, at: 16, fires }, summary);
      holds({ series, alert: 'TesseraNotReady', at: 30, fires: [] }, summary);
    });

    test('is raised when the process ends before it can be asked', () => {
      holds({ series: { ...old, [up('new')]: '0x60' }, alert, at: 20, fires }, summary);
      const nowAndThen = { [ready('new')]: '_x4 0 _x9 0 _x9 0 _x20', [up('new')]: '0x4 1 0x9 1 0x9 1 0x20' };
      holds({ series: { ...old, ...nowAndThen }, alert, at: 20, fires }, summary);
    });

    test('is not raised by a rollout that goes on pod by pod, nor by another pod of the namespace', () => {
      const rollout = Object.fromEntries(
        Array.from({ length: 12 }, (_, index) => [
          ready(`new-${index}`),
          `${'_ '.repeat(index * 3)}0 0 1x${50 - index * 3}`,
        ]),
      );
      const other = 'up{container="web",endpoint="management",namespace="id",pod="web"}';
      holds({ series: { ...old, ...rollout, [other]: '0x60' }, alert, at: 35, fires: [] }, summary);
    });

    test('ends within five minutes after the pod is gone', () => {
      const series = { ...old, [ready('new')]: '0x20 stale', [up('new')]: '1x20 stale' };
      holds({ series, alert, at: 19, fires }, summary);
      holds({ series, alert, at: 27, fires: [] }, summary);
    });
  });

  test('is raised by a Job that does not succeed, failed or not, and only by one of Tessera', () => {
    const alert = 'TesseraJobUnfinished';
    const summary = 'A Job that migrates or applies the declared state has not succeeded for 15 minutes.';
    const job = (name: string) => `kube_job_status_succeeded{namespace="id",job_name="${name}"}`;
    const series = {
      [job('tessera-apply-0123456789')]: '0x180',
      [job('tessera-migrate-0123456789')]: '0x5 1x175',
      [job('nightly-report')]: '0x180',
    };
    const fires = [{ severity: 'warning', namespace: 'id', job_name: 'tessera-apply-0123456789' }];
    holds({ series, alert, at: 10, fires: [] }, summary);
    holds({ series, alert, at: 16, fires }, summary);
    holds({ series, alert, at: 180, fires }, summary);
  });

  test('is raised by a process that keeps restarting, and only by one of Tessera', () => {
    const started = (pod: string) => `process_start_time_seconds{namespace="id",pod="${pod}"}`;
    const series = {
      [build(gateway)]: '1x60',
      [started('gateway-1')]: '0+60x60',
      [started('other')]: '0+60x60',
    };
    const summary = 'A process keeps restarting.';
    const fires = [{ severity: 'warning', namespace: 'id', pod: 'gateway-1' }];
    holds({ series, alert: 'TesseraRestarts', at: 30, fires }, summary);
  });

  test('is raised three days before a certificate expires, not earlier', () => {
    const name = 'tessera_certificate_not_after_timestamp_seconds{namespace="id",pod="token-1"}';
    const summary = 'A certificate for calls between processes expires within three days.';
    const fires = [{ severity: 'critical', namespace: 'id', pod: 'token-1' }];
    const alert = 'TesseraCertificateExpires';
    holds({ series: { [name]: `${2 * 86400}x60` }, alert, at: 40, fires }, summary);
    holds({ series: { [name]: `${9 * 86400}x60` }, alert, at: 40, fires: [] }, summary);
  });

  test('is raised by two versions after an hour', () => {
    const series = { [build(gateway)]: '1x90', [build('namespace="id",pod="token-1"', '0.3.0')]: '1x90' };
    const summary = 'Processes of two versions have been running for an hour.';
    const alert = 'TesseraVersionsMixed';
    holds({ series, alert, at: 30, fires: [] }, summary);
    holds({ series, alert, at: 70, fires: [{ severity: 'warning', namespace: 'id' }] }, summary);
  });

  test('is raised by administration calls that fail, and not by calls that are refused', () => {
    const alert = 'TesseraAdministrationFails';
    const summary = 'More than one in ten administration calls fails.';
    const calls = (outcome: string, service = 'admin.v1.UsersService') =>
      `tessera_calls_total{namespace="id",method="tessera.${service}/Create",outcome="${outcome}"}`;
    const fires = [{ severity: 'warning', namespace: 'id' }];
    const failing = { [calls('ok')]: '0+5x60', [calls('unavailable')]: '0+1x60' };
    holds({ series: failing, alert, at: 30, fires }, summary);
    const others = { [calls('unavailable', 'keys.v1.KeysService')]: '0+9x60' };
    const refused = { [calls('ok')]: '0+5x60', [calls('invalidargument')]: '0+9x60', ...others };
    holds({ series: refused, alert, at: 30, fires: [] }, '');
  });

  test('is raised by server errors, as before', () => {
    const requests = (status: string) => `tessera_http_requests_total{namespace="id",status="${status}"}`;
    const series = { [requests('200')]: '0+600x30', [requests('503')]: '0+60x30' };
    const summary = 'More than one in a hundred requests is answered with a server error.';
    const fires = [{ severity: 'critical', namespace: 'id' }];
    holds({ series, alert: 'TesseraFails', at: 20, fires }, summary);
  });
});
