import type { Application } from '@tessera/proto-gen/directory';
import { describeScopes, findApplication } from '../../described-application.ts';
import type { StepPage } from './step-page.ts';

const scopeKey = 'scope ';

/** Whether a third-party application may have what it asks for. */
export const consentPage: StepPage = {
  name: 'consent',
  fields: ['consent'],
  title: () => 'Allow access?',
  offersOthers: true,
  data: ({ shown }) => ({ application: shown['application'] ?? '', account: shown['account'] ?? '' }),
  async load(context, { interaction, shown }) {
    const { application } = await findApplication(context, interaction.clientId);
    const names = Object.keys(shown)
      .filter((key) => key.startsWith(scopeKey))
      .map((key) => key.slice(scopeKey.length));
    return {
      ...describeScopes(application, names),
      about: application && aboutApplication(application),
    };
  },
  problems: { incomplete: { status: 400, message: 'Allow or deny the request.' } },
};

/** Who asks. */
function aboutApplication({ publisher, homepage, description, descriptions }: Application) {
  return {
    publisher,
    homepage: homepage === '' ? undefined : { uri: homepage, host: new URL(homepage).host },
    words: { description, descriptions },
  };
}
