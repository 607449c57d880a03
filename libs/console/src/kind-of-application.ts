import type { Application } from '@tessera/proto-gen/admin-applications';

/** What kind of program an application is, as a sentence of the languages. */
export function kindOf({ type, grantTypes }: Pick<Application, 'type' | 'grantTypes'>): string {
  const has = (grantType: string) => grantTypes.includes(grantType);
  if (has('authorization_code'))
    return type === 'public' ? 'Single-page or native application' : 'Web application';
  if (has('device_code')) return 'Device';
  if (has('ciba')) return 'Asks for approvals';
  return has('client_credentials') ? 'Service' : 'API';
}
