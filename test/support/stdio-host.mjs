// Runs the small MCP server as the built service would, and prints the ids of its processes. What it is told on its
// standard input it then does.
import { once } from 'node:events';
import { StdioProcesses } from '../../dist/upstreams/stdio/stdio-processes.js';
import { StdioUpstream } from '../../dist/upstreams/stdio/stdio-upstream.js';

const [server, tool, ...options] = process.argv.slice(2);
const processes = new StdioProcesses({
  maxProcesses: 1,
  idleMs: 60_000,
  maxMemoryBytes: 2 ** 40,
  environment: { PATH: process.env.PATH },
});
const identity = { connectionId: 'c', revision: '1', timeoutMs: 10_000 };
const target = { kind: 'stdio', ...identity, command: 'node', args: [server, ...options], env: {}, cwd: '/' };
const { content } = await new StdioUpstream(target, processes).callTool(tool, {});
process.stdout.write(`pids ${content[0].text}\n`);

const [order] = await once(process.stdin, 'data');
if (order.toString() === 'exit') process.exit(0);
throw new Error('told to fail');
