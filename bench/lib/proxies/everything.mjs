import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startListening } from './start.mjs';

const RECORDED = fileURLToPath(new URL('recorded-everything.mjs', import.meta.url));

/**
 * Starts `server-everything` over streamable HTTP. `program` is the same server over STDIO, which each proxy starts for
 * itself. Both record the protocol revisions that they are asked for: `takeRevision` returns the one that most sessions
 * since its last call asked for (a service can list the tools in a session of its own), if there were any; after
 * `stopRecording`, timed calls are not recorded.
 * @param {string} folder holds its files; must exist
 */
export async function startEverything(folder) {
  const file = join(folder, 'revisions');
  let taken = 0;
  const target = await startListening({
    folder,
    args: () => [RECORDED, file, 'streamableHttp'],
    env: (port) => ({ PORT: String(port) }),
    path: '/mcp',
  });
  return {
    ...target,
    program: { command: 'node', args: [RECORDED, file, 'stdio'] },
    takeRevision() {
      const all = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
      const fresh = all.slice(taken);
      taken = all.length;
      const timesOf = (revision) => fresh.filter((each) => each === revision).length;
      return [...new Set(fresh)].toSorted((a, b) => timesOf(b) - timesOf(a))[0];
    },
    stopRecording: () => process.kill(target.pid, 'SIGUSR2'),
  };
}
