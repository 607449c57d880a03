/**
 * `node:http`. A module that imports it by name has every export read at once, which loads all of `fetch`
 * for `WebSocket`: 3 MiB at rest.
 */
export const http = process.getBuiltinModule('node:http');
