import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { isAlive } from '../support/is-alive.js';
import { Program } from '../support/program.js';

const HOST = fileURLToPath(new URL('../support/stdio-host.mjs', import.meta.url));
const MINI = fileURLToPath(new URL('../support/stdio-fixtures/mini-server.mjs', import.meta.url));

interface Host {
  process: Program;
  /** The program's processes. */
  pids: number[];
}

async function start(...args: string[]): Promise<Host> {
  const host = new Program(process.execPath, [HOST, MINI, ...args], { stdio: 'pipe' });
  const [, line = ''] = await host.printed(/^pids (.*)\n/m);
  const pids = line.split(' ').map(Number);
  expect(pids.map(isAlive)).toEqual(pids.map(() => true));
  return { process: host, pids };
}

async function allGone(pids: readonly number[]): Promise<void> {
  await eventually(() => !pids.some(isAlive));
}

describe('programs of STDIO connections, when the service ends', () => {
  it.each(['exit', 'fail'])('end with all their child processes, even if they ignore signals: %s', async (order) => {
    const host = await start('family', '--stubborn');
    host.process.stdin?.write(order);
    await host.process.exit();
    await allGone(host.pids);
  });

  it('end with their input when the service is killed', async () => {
    const host = await start('pid');
    host.process.signal('SIGKILL');
    await allGone(host.pids);
  });
});
