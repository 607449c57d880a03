import { loadConfig } from '@tessera/process';
import { describe, expect, it } from 'vitest';
import { peopleConfig } from './config.ts';

describe('the settings of people', () => {
  it.each(['smtp://mail?requireTls=true', 'smtps://mail?tls.rejectUnauthorized=false', 'smtp://u:100%@mail'])(
    'refuse the mail server %s: no options, and credentials that can be decoded',
    (url) => {
      expect(() => loadConfig(peopleConfig, { TESSERA_SMTP_URL: url })).toThrow(
        /TESSERA_SMTP_URL: (the option requireTls|an option is not known|expected smtp:)/,
      );
    },
  );
});
