import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Signalbox } from '../../client/src/signalbox.js';
import { Refusal, serviceCommand, serviceOf } from './service.js';
import { printable, say, table } from './terminal.js';

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
    .argument('[arguments...]', 'of the command; write -- before the first that starts with a dash')
    .option('--title <title>', 'a name for people')
    .option('--token-env <name>', 'the environment variable with the bearer token of the server')
    .option('--header <name: value...>', 'a header of each request')
    .option('--env <NAME=value...>', 'a variable for the program')
    .action(async (target: string, args: string[], options: ConnectOptions, command: Command) => {
      const { signalbox } = serviceOf(command);
      const isUrl = /^https?:\/\//.test(target);
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
  const {
    ok,
    tools,
    protocol_version: version,
    latency_ms: ms,
    error,
  } = await signalbox.tool('CONNECTION_TEST', { id });
  if (ok) {
    say(`It works: ${tools} tools, MCP ${version ?? '?'}, ${ms} ms`);
    return;
  }
  say(`It does not work yet: ${printable(error ?? 'no reason is known')}`);
  process.exitCode = 1;
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
