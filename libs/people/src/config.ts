import { directoryConfig } from '@tessera/directory';
import { choice, combine, issuerSetting, messagesDirSetting, secretIn } from '@tessera/process';
import { z } from 'zod';
import { smtpUrlProblem } from './smtp-url.ts';

export const peopleConfig = z
  .object({
    /** The shared issuer, to which links in mail lead. */
    TESSERA_ISSUER: issuerSetting,
    /** The server that takes mail: `smtps://user:password@host:465` or `smtp://host:587`; absent: no mail is sent. */
    TESSERA_SMTP_URL: secretIn((value) => {
      const problem = smtpUrlProblem(value);
      if (problem !== undefined) throw new Error(problem);
    }).optional(),
    /** Whether mail is sent over TLS alone, or also without it to a server that offers none. */
    TESSERA_SMTP_TLS: choice(['required', 'optional'], 'required'),
    /** PEM of the authority of the server's certificate. */
    TESSERA_SMTP_CA: z.string().optional(),
    /** Address that mail comes from. */
    TESSERA_MAIL_FROM: z
      .string()
      .regex(/^[^\s@<>(),:;"\\[\]]+@[^\s@<>(),:;"\\[\]]+$/, 'expected an address such as no-reply@id.example')
      .optional(),
    TESSERA_MESSAGES_DIR: messagesDirSetting,
  })
  .refine((config) => config.TESSERA_SMTP_URL === undefined || config.TESSERA_MAIL_FROM !== undefined, {
    error: 'is required with TESSERA_SMTP_URL',
    path: ['TESSERA_MAIL_FROM'],
  })
  .refine((config) => config.TESSERA_SMTP_URL === undefined || config.TESSERA_ISSUER !== undefined, {
    error: 'is required with TESSERA_SMTP_URL: mail has links to it',
    path: ['TESSERA_ISSUER'],
  });

export type PeopleConfig = z.infer<typeof peopleConfig>;

/** The settings of both rooms, of which one process is composed. */
export const directoryProcessConfig = combine(directoryConfig, peopleConfig);
export type DirectoryProcessConfig = z.infer<typeof directoryProcessConfig>;
