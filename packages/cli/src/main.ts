import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { SignalboxError } from '../../client/src/signalbox-error.js';
import { applyCommand, exportCommand } from './apply/apply.js';
import { chatCommand } from './chat.js';
import { connectCommand, importCommand } from './connect.js';
import { doctorCommand } from './doctor.js';
import { keyCommand } from './key.js';
import { demoCommand, startCommand } from './local-commands.js';
import { logsCommand, runsCommand } from './runs.js';
import { Refusal } from './service.js';
import { printable } from './terminal.js';

/** Of the build, or of the package. */
const MANIFEST = new URL('../../../../package.json', import.meta.url);
const { version } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { version: string };

const program = new Command('signalbox')
  .description('Run AI agents over HTTP, and proxy calls between MCP clients and MCP servers.')
  .version(version)
  // `connect` leaves the options of the program that it starts to that program.
  .enablePositionalOptions()
  .showHelpAfterError()
  .addHelpText('after', '\nThe API key of every command that talks to a service is in API_KEY or SIGNALBOX_API_KEY.');
for (const make of [
  startCommand,
  demoCommand,
  doctorCommand,
  keyCommand,
  connectCommand,
  importCommand,
  chatCommand,
  runsCommand,
  logsCommand,
  applyCommand,
  exportCommand,
]) {
  program.addCommand(make());
}

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`${printable(sentenceFor(error))}\n`);
  process.exitCode = 1;
}

function sentenceFor(error: unknown): string {
  if (error instanceof Refusal || error instanceof CommanderError) return error.message;
  if (error instanceof SignalboxError) {
    const faults = error.errors.map(({ path, message }) => `\n  ${path}: ${message}`).join('');
    return `${error.message} (${error.code})${faults}`;
  }
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
