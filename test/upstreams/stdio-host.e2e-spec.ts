import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const HOST = fileURLToPath(new URL('../support/stdio-host.mjs', import.meta.url));
const MINI = fileURLToPath(new URL('../support/stdio-fixtures/mini-server.mjs', import.meta.url));

interface Host {
  process: ChildProcessWithoutNullStreams;
  /** The program's processes. */
  pids: number[];
}

async function start(...args: string[]): Promise<Host> {
  const host = spawn(process.execPath, [HOST, MINI, ...args]);
  let output = '';
  for (const stream of [host.stdout, host.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  while (!/^pids (.*)\n/m.test(output)) {
    if (host.exitCode !== null) throw new Error(`The host ended: ${output}`);
    await sleep(20);
  }
  const pids = (/^pids (.*)\n/m.exec(output)?.[1] ?? '').split(' ').map(Number);
  expect(pids.map(isAlive)).toEqual(pids.map(() => true));
  return { process: host, pids };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function allGone(pids: readonly number[]): Promise<void> {
  while (pids.some(isAlive)) await sleep(20);
}

describe('programs of STDIO connections, when the service ends', () => {
  it.each(['exit', 'fail'])('end with all their child processes, even if they ignore signals: %s', async (order) => {
    const host = await start('family', '--stubborn');
    host.process.stdin.write(order);
    await once(host.process, 'exit');
    await allGone(host.pids);
  });

  it('end with their input when the service is killed', async () => {
    const host = await start('pid');
    host.process.kill('SIGKILL');
    await allGone(host.pids);
  });
});
