import type { ApplicationRecord } from '@tessera/directory-client';
import type { AuthorizationRequest } from '@tessera/oauth';
import { ApplicationType } from '@tessera/proto-gen/directory';

/** Why the mode does not suit the client or its redirect URI, in a sentence; undefined if it does. */
export function responseModeProblem(
  { responseMode, redirectUri }: AuthorizationRequest,
  { application }: ApplicationRecord,
) {
  // The link chooses the mode. A server never sees a fragment, so its code would lie unused where scripts read it.
  if (responseMode === 'fragment' && application.type !== ApplicationType.PUBLIC)
    return 'response_mode=fragment is for public applications.';
  // Browsers lose the form's body when they hand a URI to an app.
  if (responseMode === 'form_post' && !/^https?:/i.test(redirectUri))
    return 'response_mode=form_post requires an http or https redirect URI.';
  return undefined;
}
