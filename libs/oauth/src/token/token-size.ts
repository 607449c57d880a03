/**
 * Characters of a token beyond which many servers refuse it in a header, as nginx does by default. It is issued all the
 * same, logged and counted.
 */
export const largeToken = 8 * 1024;

/**
 * Longer tokens are not accepted: neither the head of a request nor a form takes them, each of which may have 64 KiB.
 */
export const longestToken = 60 * 1024;
