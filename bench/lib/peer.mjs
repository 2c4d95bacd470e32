import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { QUESTION } from './answer.mjs';
import { Child, COLLECTABLE } from './child.mjs';

const PROGRAM = fileURLToPath(new URL('peer-server.mjs', import.meta.url));

/**
 * Starts the peer in one process, with the same methods as the service.
 * @param {{ databaseUrl?: string, redisUrl?: string }} backend
 */
export async function startPeer({ databaseUrl, redisUrl }) {
  const child = new Child(process.execPath, [...COLLECTABLE, PROGRAM], {
    NODE_ENV: 'production',
    PEER_DATABASE_URL: databaseUrl,
    PEER_REDIS_URL: redisUrl,
  });
  const url = await child.line(/^peer on (\S+)/);
  return {
    pid: child.pid,
    headers: {},
    body: { text: QUESTION },
    async newThread() {
      const thread = `${url}/${randomUUID()}`;
      return { messages: thread, stream: thread };
    },
    stop: () => child.stop(),
  };
}
