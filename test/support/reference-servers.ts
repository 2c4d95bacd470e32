import { fileURLToPath } from 'node:url';

/** The file with which Node starts a reference server of `@modelcontextprotocol`. */
export const entryOf = (server: string): string =>
  fileURLToPath(new URL(`../../node_modules/@modelcontextprotocol/${server}/dist/index.js`, import.meta.url));
