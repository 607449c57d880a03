/** What no file of the repository contains: keys, paths of somebody's machine, switched-off checks, registry hosts. */
import { filesMatching, readText } from './files.ts';
import { report } from './report.ts';

interface Rule {
  readonly problem: string;
  readonly pattern: RegExp;
  readonly files: RegExp;
}

const everywhere = /(?:)/;
const sources = /\.(ts|sql|proto|eta)$/;

/** They ask it of what comes by HTTP, or is decoded out of a text. */
const notOfRequests = [
  'kit/src/',
  'rpc/src/',
  'gateway/src/http/parameters',
  'pages/src/parse-form',
  'oauth/src/request/client-authentication',
  'authorize/src/methods/upstream/claims-of-person',
  'directory/src/assertions/verify-assertion',
  'directory/src/applications/public-keys',
];

const rules: readonly Rule[] = [
  {
    problem: 'a private key',
    pattern: /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\s*\n\s*\w/,
    files: everywhere,
  },
  {
    problem: 'an access key',
    pattern: /\b(?:AKIA[0-9A-Z]{16}|gh[pousr]_\w{36,}|npm_\w{36,})\b/,
    files: everywhere,
  },
  { problem: 'registry credentials', pattern: /_authToken|_password\s*=/, files: /(^|\/)\.npmrc$/ },
  {
    problem: 'a path of one machine',
    pattern: /(?:^|[\s"'`(=:,[])(?:\/(?:home|Users|root|work)\/[\w.-]|[A-Z]:\\Users\\)/m,
    files: everywhere,
  },
  {
    problem: 'a check switched off',
    pattern:
      /(?:oxlint|eslint|tslint)-(?:disable|enable)|@ts-(?:ignore|nocheck|expect-error)|prettier-ignore/,
    files: sources,
  },
  {
    // Drawings are as wide as they are, and so is a word that nothing breaks.
    problem: 'a comment that is wider than 120 columns',
    pattern: /^(?=.{121})[ \t]*(?:\/\/|\/?\*\*?) (?!  )\S+ .*$/mu,
    files: /\.ts$/,
  },
  { problem: 'work put off', pattern: /\b(?:TODO|FIXME|XXX)\b/, files: sources },
  {
    problem: 'the table of policies repeated (libs/oauth ranks them)',
    pattern: /'(?:second-factor|phishing-resistant)'|authenticationPolicy(?::| [=!]==) '(?!refused')[^']/,
    files:
      /^(?:apps|libs)\/(?!oauth\/src\/token\/authentication-class)(?!.*\/testing\/)[\w./-]+(?<!\.test|\.contract)\.ts$/,
  },
  {
    problem:
      'what lets a person in, asked a second time (libs/directory/src/ground/ways-in.postgres.ts knows)',
    pattern:
      /\.password_hash IS (?:NOT )?NULL\b|EXISTS \(SELECT\b[^)]*? FROM directory\.(?:passkey|provider_identity)\b|'provider_identity'/,
    files:
      /^libs\/(?:directory|people)\/src\/(?!ground\/ways-in\.)(?!.*testing\/)[\w./-]+(?<!\.test|\.contract)\.ts$/,
  },
  {
    problem:
      'whether a person and their tenant are active, asked a second time (areActive of libs/directory/src/ground/ways-in.postgres.ts knows)',
    pattern: /\w\.status = 'active'\s+AND\s+\w+\.status = 'active'/,
    files:
      /^libs\/(?:directory|people)\/src\/(?!ground\/ways-in\.)(?!.*testing\/)[\w./-]+(?<!\.test|\.contract)\.ts$/,
  },
  {
    problem:
      'whether a sign-in still counts, asked a second time (signInCounts of libs/directory/src/ground/ways-in.postgres.ts knows)',
    pattern: /\bvalid_from\)? *[<>]/,
    files:
      /^libs\/(?:directory|people)\/src\/(?!ground\/ways-in\.)(?!.*testing\/)[\w./-]+(?<!\.test|\.contract)\.ts$/,
  },
  {
    problem:
      'a text asked for what no store takes, which libs/rpc/src/access/text-check.ts does for every request',
    pattern:
      /\b(?:includes|indexOf|search|replace|replaceAll)\(\s*['"`/][^)]*?\\(?:0|x00|u0000)(?![\w-])|\.isWellFormed\(|\bisStorable\b/,
    files: new RegExp(
      `^(?:apps|libs)/(?!${notOfRequests.join('|')})(?!.*/testing/)[\\w./-]+(?<!\\.test|\\.contract)\\.ts$`,
    ),
  },
  {
    problem:
      'the end of a change, written by hand (concludeChange of libs/directory/src/ground knows its order; of a person, changePerson of libs/people/src/change)',
    pattern: /\bappendChanges\b/,
    files: /^libs\/(?:directory|people)\/src\/(?!ground\/)[\w./-]+(?<!\.test|\.contract)\.ts$/,
  },
  {
    problem:
      'the end of what was issued to a person, written by hand (changePerson of libs/people/src/change knows)',
    pattern: /\bpersonValidFrom\b|\bSET\b[^`]*?\bvalid_from =/,
    files:
      /^libs\/people\/src\/(?!change\/change-person\.)(?!.*testing\/)[\w./-]+(?<!\.test|\.contract)\.ts$/,
  },
  { problem: 'the host of a registry', pattern: /"resolved": "[a-z+]+:\/\//, files: /^package-lock\.json$/ },
];

// This file names the patterns in order to find them; the canaries spell theirs in pieces.
const exempt =
  /^scripts\/check\/hygiene\.ts$|^libs\/proto-gen\/src\/|^libs\/rpc\/src\/testing\/trial\/.*_pb\.ts$/;
const binary = /\.(png|jpe?g|gif|ico|woff2?|pdf)$/;

function problemsOf(path: string): string[] {
  const text = readText(path);
  return rules.flatMap(({ problem, pattern, files }) => {
    const match = files.test(path) ? pattern.exec(text) : null;
    if (!match) return [];
    return [`${path}:${text.slice(0, match.index).split('\n').length}: ${problem}`];
  });
}

report(
  filesMatching('**/*', '**/.*', '.*/**/*')
    .filter((path) => !exempt.test(path) && !binary.test(path))
    .flatMap(problemsOf),
  'Remove them; a secret that was committed must also be replaced.',
);
