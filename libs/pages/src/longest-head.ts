/**
 * Bytes of the head of a request: address and headers. It holds an authorization request with a state and a nonce of up
 * to 8,192 characters each, percent-encoded, and the longest token that is accepted.
 */
export const longestHead = 64 * 1024;
