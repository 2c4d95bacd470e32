import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Signalbox } from '../../client/src/signalbox.js';
import { Refusal, serviceCommand, serviceOf } from './service.js';
import { printable, say, table } from './terminal.js';

const PROGRESS_EVERY_MS = 2_000;

interface ConnectOptions {
  readonly title?: string;
  readonly header?: string[];
  readonly tokenEnv?: string;
  readonly env?: string[];
}

export function connectCommand(): Command {
  return serviceCommand('connect')
    .description('connect an MCP server, by its URL or by the command that starts it, and test it')
    .argument('<url-or-command>', 'such as https://mcp.example.com/mcp, or npx')
    .argument('[arguments...]', 'of the command, as they are; the options above come before the first of them')
    .passThroughOptions()
    .option('--title <title>', 'a name for people')
    .option('--token-env <name>', 'the environment variable with the bearer token of the server')
    .option('--header <name: value...>', 'a header of each request')
    .option('--env <NAME=value...>', 'a variable for the program')
    .action(async (target: string, following: string[], _options: ConnectOptions, command: Command) => {
      // The options of this command can also follow the target: takes them until something else comes.
      const { operands, unknown } = command.parseOptions(following);
      const args = [...operands, ...unknown];
      const options = command.opts<ConnectOptions>();
      const { signalbox } = serviceOf(command);
      const isUrl = /^https?:\/\//.test(target);
      if (isUrl && args.length > 0) throw new Refusal(`"${args[0]}" follows a URL, which takes no arguments.`);
      const { item } = await signalbox.tool('COLLECTION_CONNECTIONS_CREATE', {
        data: {
          title: options.title ?? (isUrl ? new URL(target).host : [target, ...args].join(' ').slice(0, 100)),
          ...(isUrl
            ? {
                connection_type: 'HTTP',
                connection_url: target,
                ...(options.tokenEnv === undefined ? {} : { connection_token: variable(options.tokenEnv) }),
                ...(options.header === undefined
                  ? {}
                  : { connection_headers: { headers: pairs(options.header, ':') } }),
              }
            : { connection_type: 'STDIO', stdio: { command: target, args, env: pairs(options.env ?? [], '=') } }),
        },
      });
      say(`Connection ${item.id}`);
      await test(signalbox, item.id);
    });
}

export function importCommand(): Command {
  return serviceCommand('import')
    .description('import the mcpServers of an MCP client’s configuration file')
    .argument('<file>', 'such as mcp.json')
    .option('--dry-run', 'only say what would happen')
    .action(async (file: string, { dryRun = false }: { dryRun?: boolean }, command: Command) => {
      const { signalbox } = serviceOf(command);
      const { items } = await signalbox.tool('CONNECTION_IMPORT', {
        mcpServers: await serversOf(file),
        dry_run: dryRun,
      });
      table(
        ['NAME', 'ACTION', 'REASON'],
        items.map(({ name, action, reason }) => [name, action, reason]),
      );
      if (items.some(({ action }) => action === 'refused')) process.exitCode = 1;
    });
}

/** A new connection stays even if its server does not answer yet. */
async function test(signalbox: Signalbox, id: string): Promise<void> {
  const { ok, tools, protocol_version: version, latency_ms: ms, error } = await tested(signalbox, id);
  if (ok) {
    say(`It works: ${tools} tools, MCP ${version ?? '?'}, ${ms} ms`);
    return;
  }
  say(`It does not work yet: ${printable(error ?? 'no reason is known')}`);
  process.exitCode = 1;
}

/** The test of a program can take a minute, because `npx` installs it first: shows what the service says meanwhile. */
async function tested(signalbox: Signalbox, id: string) {
  let shown: string | null = null;
  const show = async (): Promise<void> => {
    const { item } = await signalbox.tool('COLLECTION_CONNECTIONS_GET', { id });
    if (item.status_reason !== null && item.status_reason !== shown) say(printable(item.status_reason));
    shown = item.status_reason;
  };
  // A key that cannot read connections can still test them.
  const timer = setInterval(() => void show().catch(() => undefined), PROGRESS_EVERY_MS);
  try {
    return await signalbox.tool('CONNECTION_TEST', { id });
  } finally {
    clearInterval(timer);
  }
}

async function serversOf(file: string): Promise<Record<string, unknown>> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Refusal(`${file} cannot be read.`);
  });
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new Refusal(`${file} is not JSON.`);
  }
  const { mcpServers } = (content ?? {}) as { mcpServers?: Record<string, unknown> };
  if (mcpServers === undefined) throw new Refusal(`${file} has no mcpServers.`);
  return mcpServers;
}

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Refusal(`The environment variable ${name} is not set.`);
  return value;
}

function pairs(entries: readonly string[], separator: string): Record<string, string> {
  return Object.fromEntries(
    entries.map((entry) => {
      const at = entry.indexOf(separator);
      if (at < 1) throw new Refusal(`"${entry}" has no "${separator}" after a name.`);
      return [entry.slice(0, at).trim(), entry.slice(at + 1).trim()];
    }),
  );
}
