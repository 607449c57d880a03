const untrusted =
  /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?))$/;

const sentences: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID:
    "The server's certificate is not for the name or address by which it is reached.",
  CERT_HAS_EXPIRED: "The server's certificate has expired.",
  CERT_NOT_YET_VALID: "The server's certificate is not valid yet.",
};

/**
 * What is wrong with a server's certificate as a sentence for operators; other errors as they are. `advice` says where
 * its authority is named.
 */
export function explainTls(error: unknown, advice: string): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const code = String(error.code);
  const sentence = untrusted.test(code)
    ? `The server's certificate is not signed by a trusted authority. ${advice}`
    : sentences[code];
  return sentence === undefined ? error : Object.assign(new Error(sentence, { cause: error }), { code });
}
