import { AccountProblem } from '@tessera/proto-gen/account';
import { rootCall } from '@tessera/rpc';
import { languageOf, shownParameter } from '@tessera/pages';
import { browserContext } from '../browser-context.ts';
import { acceptedPasskeysSection } from './sections/accepted-passkeys-section.ts';
import { resultOf, type AccountContent, type AccountSection } from './sections/account-section.ts';
import { closingSection } from './sections/closing-section.ts';

/** A record that a file declares is changed there alone. */
const record: AccountSection = {
  name: 'profile',

  show({ account: { email, emailVerified, phoneNumber, declared, sendsMail }, session, fieldsOf }) {
    const changeEmail = declared || !sendsMail ? undefined : fieldsOf('change_email');
    const isToVerify = changeEmail !== undefined && email !== '' && !emailVerified;
    return {
      name: session.name,
      username: session.username,
      email,
      phoneNumber,
      isDeclared: declared,
      changeName: declared ? undefined : fieldsOf('change_name'),
      changeEmail,
      verifyEmail: isToVerify ? [...changeEmail, { name: 'email', value: email }] : undefined,
    };
  },

  changes: {
    async change_name({ app, request, gateway }, { form }) {
      const { problem } = await gateway.peers.account.changeName(
        { browser: browserContext(app, request), name: shownParameter(form, 'name') },
        rootCall(request.incoming.requestId),
      );
      return problem === AccountProblem.BAD_TEXT ? 'bad_name' : resultOf(problem, 'name_changed');
    },

    async change_email({ app, request, gateway }, { form }) {
      const email = shownParameter(form, 'email');
      const { problem } = await gateway.peers.account.changeEmail(
        { browser: browserContext(app, request), email, language: languageOf(request, gateway.languages) },
        rootCall(request.incoming.requestId),
      );
      if (problem === AccountProblem.SIGN_IN_AGAIN) return { visit: 'change' };
      return problem === AccountProblem.BAD_TEXT ? 'bad_email' : resultOf(problem, 'email_proposed');
    },
  },
};

/** Name and addresses of a person, and the end of the account. */
export const profile: AccountContent = {
  name: 'profile',
  template: 'account-profile',
  sections: [record, closingSection, acceptedPasskeysSection],
};
