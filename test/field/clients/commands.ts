import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openModernClient } from '../../support/field-clients.js';
import { runClient, runToEnd } from '../client-process.js';
import type { FieldClient, Place } from '../field-client.js';
import type { FieldTask } from '../field-target.js';
import { commandOf } from '../installed-client.js';

const bearer = ({ key }: FieldTask): string => `Bearer ${key}`;
const pairs = (values: Record<string, string>): string[] => Object.entries(values).map((pair) => pair.join('='));
const namesIn = (stdout: string): string[] =>
  (JSON.parse(stdout) as { tools: { name: string }[] }).tools.map(({ name }) => name);

/** @param options what this version needs to negotiate the newest revision */
function inspector(
  major: number,
  how: string,
  shows: FieldClient['shows'],
  options: readonly string[] = [],
): FieldClient {
  return {
    name: '@modelcontextprotocol/inspector',
    major,
    shows,
    how,
    run: async (task, place) => {
      const command = commandOf(place.installed, 'mcp-inspector');
      const header = ['--header', `Authorization: ${bearer(task)}`];
      const argsOf = (method: string, more: readonly string[]): string[] => {
        const target = ['--cli', task.url, '--transport', 'http', ...header, ...options];
        return [...target, '--method', method, ...more];
      };
      const ask = async (method: string, ...more: string[]): Promise<string> =>
        (await runClient(command, argsOf(method, more), place)).stdout;
      const { prompt, resource, withheld } = task;
      const toolArgs = pairs(task.args).flatMap((pair) => ['--tool-arg', pair]);
      return {
        tools: namesIn(await ask('tools/list')),
        result: await ask('tools/call', '--tool-name', task.tool, ...toolArgs),
        refusal:
          shows.includes('refusal') &&
          (await runToEnd(command, argsOf('tools/call', ['--tool-name', withheld]), place)),
        prompt:
          prompt && (await ask('prompts/get', '--prompt-name', prompt.name, '--prompt-args', ...pairs(prompt.args))),
        resource: resource && (await ask('resources/read', '--uri', resource.uri)),
      };
    },
  };
}

/** `mcporter` with a configuration file, as its users have it. */
const mcporter: FieldClient = {
  name: 'mcporter',
  shows: ['resource', 'refusal'],
  how: '`list`, `call`, `resource`',
  run: async (task, place) => {
    const config = join(place.home, 'mcporter.json');
    const server = { url: task.url, headers: { Authorization: bearer(task) } };
    await writeFile(config, JSON.stringify({ mcpServers: { field: server }, imports: [] }));
    const command = commandOf(place.installed, 'mcporter');
    const argsOf = (...args: string[]): string[] => ['--config', config, ...args];
    const ask = async (...args: string[]): Promise<string> => (await runClient(command, argsOf(...args), place)).stdout;
    return {
      tools: namesIn(await ask('list', 'field', '--json')),
      result: await ask('call', `field.${task.tool}`, '--args', JSON.stringify(task.args)),
      refusal: await runToEnd(command, argsOf('call', `field.${task.withheld}`), place),
      resource: task.resource && (await ask('resource', 'field', task.resource.uri)),
    };
  },
};

/** `mcpc`, which keeps a session in a process of its own. */
const mcpc: FieldClient = {
  name: '@apify/mcpc',
  shows: ['prompt', 'resource', 'refusal'],
  how: 'a named session',
  run: async (task, place) => {
    const command = commandOf(place.installed, 'mcpc');
    const ask = async (...args: string[]): Promise<string> =>
      (await runClient(command, ['--json', ...args], place)).stdout;
    const { prompt, resource } = task;
    await ask('connect', task.url, '@field', '--header', `Authorization: ${bearer(task)}`);
    try {
      return {
        tools: (JSON.parse(await ask('@field', 'tools-list')) as { name: string }[]).map(({ name }) => name),
        result: await ask('@field', 'tools-call', task.tool, JSON.stringify(task.args)),
        refusal: await runToEnd(command, ['--json', '@field', 'tools-call', task.withheld], place),
        prompt: prompt && (await ask('@field', 'prompts-get', prompt.name, JSON.stringify(prompt.args))),
        resource: resource && (await ask('@field', 'resources-read', resource.uri)),
      };
    } finally {
      await ask('close', '@field');
    }
  },
};

/** `mcp-remote` as the program of a client that can only start programs. */
const mcpRemote: FieldClient = {
  name: 'mcp-remote',
  shows: ['prompt', 'resource', 'refusal'],
  how: 'program of a client, with a header',
  run: async (task, { installed, home }: Place) => {
    const args = [task.url, '--allow-http', '--transport', 'http-only', '--header', `Authorization: ${bearer(task)}`];
    const program = [process.execPath, commandOf(installed, 'mcp-remote'), ...args];
    const client = await openModernClient({ command: 'env', args: [`HOME=${home}`, ...program] }, 'auto');
    try {
      const { prompt, resource } = task;
      return {
        tools: (await client.listTools()).tools.map(({ name }) => name),
        result: await client.callTool(task.tool, task.args),
        refusal: await client.callTool(task.withheld).catch(String),
        prompt: prompt && (await client.getPrompt(prompt.name, prompt.args)),
        resource: resource && (await client.readResource(resource.uri)),
      };
    } finally {
      await client.close();
    }
  },
};

export const COMMANDS: readonly FieldClient[] = [
  inspector(1, '`--cli`', ['prompt', 'resource', 'refusal']),
  // It calls only what it has found in the list.
  inspector(2, '`--cli --protocol-era auto`', ['prompt', 'resource'], ['--protocol-era', 'auto']),
  mcporter,
  mcpc,
  mcpRemote,
];
