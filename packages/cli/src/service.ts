import { Command } from 'commander';
import { Signalbox } from '../../client/src/signalbox.js';

/** Which service a command talks to, and as whom. */
export interface Service {
  readonly url: string;
  readonly org: string;
  readonly signalbox: Signalbox;
}

/** What went wrong in a sentence for the terminal. Any other error is shown with its name. */
export class Refusal extends Error {}

const DEFAULT_URL = 'http://127.0.0.1:3000';

/** Adds the options of every command that talks to a service. */
export function serviceCommand(name: string): Command {
  return new Command(name)
    .option('--url <url>', `the service (SIGNALBOX_URL, or ${DEFAULT_URL})`)
    .option('--org <slug>', 'the organization (SIGNALBOX_ORG, or default)')
    .hook('preAction', endWithReader);
}

/** Ends the command in silence when the reader of its output has ended, as `head` does. */
function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });
}

/** Where the service is, which needs no key. */
export function addressOf(command: Command): { url: string; org: string } {
  const { url, org } = command.opts<{ url?: string; org?: string }>();
  return {
    url: url ?? process.env['SIGNALBOX_URL'] ?? DEFAULT_URL,
    org: org ?? process.env['SIGNALBOX_ORG'] ?? 'default',
  };
}

/**
 * Keys are never taken from the arguments, which other users of the machine can read.
 * @throws Refusal without a key in the environment
 */
export function serviceOf(command: Command): Service {
  const apiKey = keyFromEnvironment();
  if (apiKey === undefined) {
    throw new Refusal('Set API_KEY to an API key. The first start of a service prints one.');
  }
  const address = addressOf(command);
  return { ...address, signalbox: new Signalbox({ ...address, apiKey }) };
}

export function keyFromEnvironment(): string | undefined {
  return process.env['SIGNALBOX_API_KEY'] || process.env['API_KEY'] || undefined;
}
