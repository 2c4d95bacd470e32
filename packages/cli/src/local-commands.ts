import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { Refusal } from './service.js';

/** The folder of the build that this file belongs to. */
const BUILD = new URL('../../../', import.meta.url);
/** A checkout has its builds in `.builds/<name>/dist`. */
const DEMO = new URL('../../../examples/demo.mjs', BUILD);

/** Both commands run in this process, so that its terminal, its signals and its exit code are theirs. */
export function startCommand(): Command {
  return new Command('start')
    .description('start the service; the environment configures it (docs/configuration.md)')
    .action(() => import(new URL('main.js', BUILD).href));
}

export function demoCommand(): Command {
  return new Command('demo')
    .description('show the complete flow with a service and an MCP server of its own; leaves nothing behind')
    .action(() => {
      if (!existsSync(DEMO)) throw new Refusal('The demo is part of a checkout of Signalbox.');
      return import(DEMO.href);
    });
}
