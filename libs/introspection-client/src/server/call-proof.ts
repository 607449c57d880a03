import { credentials as channelCredentials, experimental, Metadata } from '@grpc/grpc-js';
import type { ChannelCredentials } from '@grpc/grpc-js';
import { watchCertificates } from '@tessera/rpc/client/certificates';
import { IntrospectionError } from '../introspection-error.ts';
import type { IntrospectorCredentials } from '../introspector-types.ts';

/** @throws Error if the files do not belong together or cannot be read */
export function channelCredentialsOf({ tls }: IntrospectorCredentials): ChannelCredentials {
  if (tls === undefined) return channelCredentials.createInsecure();
  const { caFile, certificateFile, privateKeyFile } = tls;
  if ((certificateFile === undefined) !== (privateKeyFile === undefined)) {
    throw new TypeError('certificateFile and privateKeyFile belong together');
  }
  if (caFile === undefined) {
    if (certificateFile === undefined) return channelCredentials.createSsl();
    throw new TypeError('a client certificate needs caFile, the authority of the server');
  }
  // A certificate that is not reloaded shows as `unavailable` once the last good one has expired.
  const files = watchCertificates({ caFile, certificateFile, privateKeyFile }, () => {});
  const identity = certificateFile === undefined ? null : files;
  return experimental.createCertificateProviderChannelCredentials(files, identity);
}

/**
 * What every call carries to prove who asks. Fails as a call would: the source of access tokens may be unavailable.
 * @param refused whether the access token before was not accepted
 */
export async function proofOf(credentials: IntrospectorCredentials, refused: boolean): Promise<Metadata> {
  const metadata = new Metadata();
  const { accessToken, sharedToken } = credentials;
  if (accessToken !== undefined) {
    try {
      metadata.set('authorization', `Bearer ${await accessToken(refused)}`);
    } catch (cause) {
      throw new IntrospectionError('unavailable', 'could not obtain an access token', { cause });
    }
  } else if (sharedToken !== undefined) {
    metadata.set('authorization', `Bearer ${sharedToken}`);
  }
  if (accessToken === undefined) metadata.set('x-tessera-caller', 'introspector');
  return metadata;
}
