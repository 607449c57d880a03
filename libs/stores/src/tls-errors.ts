const untrusted =
  /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?))$/;

/**
 * What is wrong with a server's certificate as a sentence for operators; other errors as they are. `advice` says where its
 * authority is named.
 */
export function explainTls(error: unknown, advice: string): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const sentence = sentenceOf(String(error.code), advice);
  return sentence === undefined
    ? error
    : Object.assign(new Error(sentence, { cause: error }), { code: error.code });
}

function sentenceOf(code: string, advice: string): string | undefined {
  if (untrusted.test(code)) return `The server's certificate is not signed by a trusted authority. ${advice}`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return "The server's certificate is not for the name or address by which it is reached.";
  if (code === 'CERT_HAS_EXPIRED') return "The server's certificate has expired.";
  if (code === 'CERT_NOT_YET_VALID') return "The server's certificate is not valid yet.";
  return undefined;
}
