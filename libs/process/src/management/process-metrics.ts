import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { metrics } from '@tessera/telemetry';
import type { Lifecycle } from '../lifecycle.ts';

const manifest = new URL('../../package.json', import.meta.url);

/** Which version runs, and whether it is ready: what an alert on an outage is made of. */
export function measureState(process: string, lifecycle: Pick<Lifecycle, 'lastReady'>): void {
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  const build = {
    name: 'tessera_build_info',
    help: 'The version that runs.',
    labels: ['process', 'version'],
  };
  metrics.gauge(build, () => [{ labels: { process, version }, value: 1 }]);
  const ready = { name: 'tessera_ready', help: 'Whether the process is ready.', labels: ['process'] };
  metrics.gauge(ready, () => [{ labels: { process }, value: lifecycle.lastReady() ? 1 : 0 }]);
}

/** When the certificate for calls expires. Reads the file each time, because renewal replaces it. */
export function measureCertificate(certificateFile: string): void {
  const options = {
    name: 'tessera_certificate_not_after_timestamp_seconds',
    help: 'When the certificate for calls between services expires, in seconds since the Unix epoch.',
  };
  metrics.gauge(options, () => {
    const { validToDate } = new X509Certificate(readFileSync(certificateFile));
    return [{ value: validToDate.getTime() / 1000 }];
  });
}
