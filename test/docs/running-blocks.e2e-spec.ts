import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startTestApp, type TestApp } from '../support/app.js';
import { startEverything, type EverythingServer } from '../support/everything-server.js';
import { withPython } from '../support/python.js';
import { codeBlocksOf, ROOT } from './code-blocks.support.js';

/** Commands that start what this test has started already. */
const STARTS = ['npm ci && npm start', 'npx @modelcontextprotocol/server-everything streamableHttp'];
/** Between the outputs of two blocks. */
const END = '--- end of block ---';

let app: TestApp;
let upstream: EverythingServer;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalbox-docs-'));
  [app, upstream] = await Promise.all([startTestApp({ env: { STDIO_COMMANDS: 'npx' } }), startEverything()]);
});

afterAll(async () => {
  await app?.close();
  await upstream?.close();
  await rm(folder, { recursive: true, force: true });
});

/** The code with the addresses and the key of this test. */
function adapted(code: string): string {
  return code
    .replaceAll('http://127.0.0.1:3000', app.url)
    .replaceAll('http://127.0.0.1:3001/mcp', upstream.url)
    .replaceAll('sbx_…', app.apiKey);
}

/** Runs a program to its end. @returns what it printed. @throws if it ends with another exit code */
async function run(program: string, args: string[], env: Record<string, string> = {}, expected = 0): Promise<string> {
  const child = spawn(program, args, {
    cwd: folder,
    env: { PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, API_KEY: app.apiKey, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const pipe of [child.stdout, child.stderr]) pipe.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  if (code !== expected) throw new Error(`${program} ended with ${code}: ${output}`);
  return output;
}

/** A line of an output in the documentation as a pattern: `…` stands for anything. */
function patternOf(line: string): RegExp {
  const parts = line.split('…').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'm');
}

// Before the others, which create agents with the names of the file.
describe('the file of the command line', () => {
  it('can be planned', async () => {
    const [block] = await codeBlocksOf('docs/cli.md');
    const file = join(folder, 'signalbox.yaml');
    await writeFile(file, block?.code ?? '');
    const env = { SIGNALBOX_URL: app.url, SEARCH_TOKEN: 'secret', BILLING_HOOK: 'https://billing.example.com/hook' };
    const main = join(ROOT, 'dist/packages/cli/src/main.js');
    // 2: something would change.
    const output = await run(process.execPath, [main, 'apply', '-f', file, '--plan'], env, 2);
    for (const name of ['search', 'files', 'Helper', 'support', 'Morning report']) expect(output).toContain(name);
  });
});

describe('the tutorial', () => {
  it('has the output that it shows', async () => {
    const blocks = (await codeBlocksOf('docs/tutorial.md')).filter(({ code }) => !STARTS.includes(code));
    const script = blocks
      .filter(({ language }) => language === 'sh')
      .map(({ code }) => `${adapted(code)}\necho; echo '${END}'`);
    const file = join(folder, 'tutorial.sh');
    await writeFile(file, `set -euo pipefail\n${script.join('\n')}\n`);
    const outputs = (await run('bash', [file])).split(END);
    expect(outputs).toHaveLength(script.length + 1);
    let at = -1;
    for (const { language, code } of blocks) {
      if (language === 'sh') at += 1;
      else for (const line of code.split('\n')) expect(outputs[at]).toMatch(patternOf(line));
    }
    expect(blocks.filter(({ language }) => language === 'text').length).toBeGreaterThan(5);
  });
});

describe('the flow with curl in the README', () => {
  /** What stands for an id, the variable that keeps it here, and the command whose answer has it. */
  const PLACEHOLDERS: readonly [placeholder: string, variable: string, after: RegExp, idIn: string][] = [
    ['<connection id>', 'connection_id', /COLLECTION_CONNECTIONS_CREATE/, '.item.id'],
    ['<agent id>', 'agent_id', /COLLECTION_VIRTUAL_MCP_CREATE/, '.item.id'],
    ['<taskId>', 'task_id', /messages -d/, '.taskId'],
  ];

  /** The commands as a reader enters them, who copies ids from answers, and reads the stream in another terminal. */
  function asEntered(code: string): string {
    return adapted(code)
      .split('\n')
      .map((line) => {
        if (!line.startsWith('call ')) return line;
        let command = line;
        for (const [placeholder, variable] of PLACEHOLDERS)
          command = command.replaceAll(placeholder, `'"$${variable}"'`);
        if (/\/stream -N/.test(command)) return `${command} > stream.txt & reader=$!; sleep 1`;
        const kept = PLACEHOLDERS.find(([, , after]) => after.test(command));
        const read = `node -pe 'JSON.parse(require("fs").readFileSync(0, "utf8"))${kept?.[3] ?? ''}'`;
        return [
          `answer=$(${command})`,
          `printf '%s\n' "$answer"`,
          ...(kept === undefined ? [] : [`${kept[1]}=$(printf %s "$answer" | ${read})`]),
        ].join('\n');
      })
      .join('\n');
  }

  it('runs as it is written', async () => {
    const blocks = (await codeBlocksOf('README.md')).filter(({ code }) => /^call\b|^ *call\(\)/m.test(code));
    const flow = blocks.findIndex(({ code }) => code.includes('call() {'));
    const [first, key] = blocks.slice(flow).map(({ code }) => code);
    expect(first).toContain('# 4. Later');
    expect(key).toContain('API_KEY_CREATE');
    const file = join(folder, 'flow.sh');
    const script = [asEntered(first ?? ''), 'wait "$reader"; cat stream.txt', asEntered(key ?? '')];
    await writeFile(file, `set -euo pipefail\n${script.join(`\necho '${END}'\n`)}\n`);
    const [answers = '', stream = '', made = ''] = (await run('bash', [file])).split(END);

    expect(answers).not.toContain('application/problem+json');
    expect(answers).not.toMatch(/"status":\s?[45]\d\d,/);
    // Connected and tested, posted, waited for, streamed, and read later.
    expect(answers).toMatch(/"ok":true,.*"tools":\d/);
    expect(answers).toMatch(/^\{"taskId":"[\w-]+"\}$/m);
    expect(answers).toMatch(/"status":"completed"/);
    expect(answers.match(/data: \[DONE\]/g)).toHaveLength(1);
    const [messages, thread, task] = answers
      .trimEnd()
      .split('\n')
      .slice(-3)
      .map((line) => JSON.parse(line));
    expect(messages.items.map(({ role }: { role: string }) => role)).toEqual(
      Array.from({ length: 3 }, () => ['user', 'assistant']).flat(),
    );
    expect(thread.item).toMatchObject({ id: 'ticket-4711', status: 'completed' });
    expect(task.item).toMatchObject({ thread_id: 'ticket-4711', status: 'completed' });
    // The stream in the other terminal carried the first run, up to its end.
    expect(stream).toContain('"delta":"Hello"');
    expect(stream.trimEnd().endsWith('data: [DONE]')).toBe(true);
    expect(JSON.parse(made)).toMatchObject({ name: 'support-bot', key: expect.stringMatching(/^sbx_/) });
  });
});

describe('the example of a client', () => {
  it('runs in TypeScript', async () => {
    const block = (await codeBlocksOf('packages/client/README.md')).find(({ language }) => language === 'ts');
    const client = pathToFileURL(join(ROOT, 'dist/packages/client/src/index.js')).href;
    const file = join(folder, 'example.ts');
    await writeFile(file, adapted(block?.code ?? '').replace('@signalbox/client', client));
    const output = await run(process.execPath, ['--no-warnings', file]);
    expect(output).toContain('completed');
    expect(output).toContain('You said: Tell me more');
  });
});

withPython('the example of the Python client', () => {
  it('runs', async () => {
    const block = (await codeBlocksOf('clients/python/README.md')).find(({ language }) => language === 'python');
    const file = join(folder, 'example.py');
    await writeFile(file, adapted(block?.code ?? ''));
    const env = { PYTHONPATH: join(ROOT, 'clients/python'), PYTHONDONTWRITEBYTECODE: '1' };
    const output = await run('python3', [file], env);
    expect(output).toContain('completed');
    expect(output).toContain('You said: Tell me more');
  });
});
