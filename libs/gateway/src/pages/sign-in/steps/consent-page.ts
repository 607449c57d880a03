import { describeScope } from '../../described-application.ts';
import type { StepPage } from './step-page.ts';

/** Whether a third-party application may have what it asks for. */
export const consentPage: StepPage = {
  name: 'consent',
  fields: ['consent'],
  title: () => 'Allow access?',
  data({ shown }) {
    const scopes = Object.entries(shown).flatMap(([key, description]) =>
      key.startsWith('scope ') ? [describeScope(key.slice('scope '.length), description)] : [],
    );
    return { application: shown['application'] ?? '', account: shown['account'] ?? '', scopes };
  },
  problems: { incomplete: { status: 400, message: 'Allow or deny the request.' } },
};
