import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { Refusal } from './service.js';

/** The folder of the build that this file belongs to. */
const BUILD = new URL('../../../', import.meta.url);
const DEMO = new URL('../examples/demo.mjs', BUILD);

export function startCommand(): Command {
  return new Command('start')
    .description('start the service; the environment configures it (README, "Configuration")')
    .action(() => run(fileURLToPath(new URL('main.js', BUILD))));
}

export function demoCommand(): Command {
  return new Command('demo')
    .description('show the complete flow with a service and an MCP server of its own; leaves nothing behind')
    .action(() => {
      if (!existsSync(DEMO)) throw new Refusal('The demo is part of a checkout of Signalbox.');
      return run(fileURLToPath(DEMO));
    });
}

/** Runs a script in place of this process: with its terminal, its signals, and its exit code. */
async function run(script: string): Promise<void> {
  const child = spawn(process.execPath, [script], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // Ctrl-C reaches the whole group of processes; the child ends in order, and this process with it.
    process.on(signal, () => signal === 'SIGTERM' && child.kill(signal));
  }
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
}
