import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startTestService, type TestService } from '../support/service.js';
import { startEverything, type EverythingServer } from '../support/everything-server.js';
import { runProgram } from '../support/program.js';
import { withPython } from '../support/python.js';
import { codeBlocksOf, ROOT } from './code-blocks.support.js';

/** Commands that start what this test has started already. */
const STARTS = ['npm ci && npm start', 'npx @modelcontextprotocol/server-everything streamableHttp'];
/** Between the outputs of two blocks. */
const END = '--- end of block ---';

let app: TestService;
let upstream: EverythingServer;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signalbox-docs-'));
  [app, upstream] = await Promise.all([startTestService({ env: { STDIO_COMMANDS: 'npx' } }), startEverything()]);
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
  const { end, output } = await runProgram(program, args, {
    cwd: folder,
    env: { PATH: `${dirname(process.execPath)}:${process.env['PATH']}`, API_KEY: app.apiKey, ...env },
  });
  if (end !== expected) throw new Error(`${program} ended with ${end}: ${output}`);
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
    for (const title of ['Cloud', 'Local']) {
      const data = { title, kind: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1' };
      await app.tool('AI_PROVIDER_CREATE', { data }).expect(200);
    }
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

describe('the demo', () => {
  it('prints what the README shows', async () => {
    /** Ids and figures differ from run to run. */
    const linesOf = (text: string): string[] =>
      text
        .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
        .replaceAll(/\d+/g, '0')
        .split('\n');
    const shown = (await codeBlocksOf('README.md')).find(({ language }) => language === 'text');
    const printed = linesOf(await run(process.execPath, [join(ROOT, 'examples/demo.mjs')]));
    expect(linesOf(shown?.code ?? '').filter((line) => !printed.includes(line))).toEqual([]);
    expect(shown?.code).toMatch(/Run +\S+: completed/);
  }, 120_000);
});

describe('the flow with curl', () => {
  /** What stands for an id, the variable that keeps it here, and the command whose answer has it. */
  const PLACEHOLDERS: readonly [placeholder: string, variable: string, after: RegExp, idIn: string][] = [
    ['<connection id>', 'connection_id', /tools\/COLLECTION_CONNECTIONS_CREATE.*"HTTP"/, '.item.id'],
    ['<agent id>', 'agent_id', /tools\/COLLECTION_VIRTUAL_MCP_CREATE/, '.item.id'],
    ['<thread id>', 'thread_id', /tools\/COLLECTION_THREADS_CREATE/, '.item.id'],
    ['<taskId>', 'task_id', /messages -d/, '.taskId'],
  ];
  /** Pages whose commands work after the flow of the README. */
  const PAGES = ['api/runs', 'api/schedules', 'api/browser-tokens', 'mcp-proxy'];

  /** The commands as a reader enters them, who copies ids from answers, and reads the stream in another terminal. */
  function asEntered(code: string): string {
    return adapted(code)
      .split('\n')
      .map((line) => {
        if (!line.startsWith('call ')) return line;
        let command = line.replace(/ +# .*$/, '');
        for (const [placeholder, variable] of PLACEHOLDERS) {
          // Inside single quotes the shell reads no variable.
          command = command.replaceAll(placeholder, (_match, at: number, whole: string) =>
            whole.slice(0, at).split(`'`).length % 2 === 0 ? `'"$${variable}"'` : `$${variable}`,
          );
        }
        if (/\/stream -N/.test(command)) {
          return `${command} -D opened.txt > stream.txt & reader=$!; until [ -s opened.txt ] || ! kill -0 $reader; do sleep 0.05; done`;
        }
        const kept = PLACEHOLDERS.find(([, , after]) => after.test(command));
        const read = `node -pe 'JSON.parse(require("fs").readFileSync(0, "utf8"))${kept?.[3] ?? ''}'`;
        return [
          // The reader looks at the transcript once the stream has ended.
          ...(/MESSAGES_LIST/.test(command) ? ['wait ${reader:-}'] : []),
          `answer=$(${command})`,
          `printf '%s\n' "$answer"`,
          ...(kept === undefined ? [] : [`${kept[1]}=$(printf %s "$answer" | ${read})`]),
        ].join('\n');
      })
      .join('\n');
  }

  it('in the README and on the pages that follow it runs as it is written', async () => {
    const commandsOf = async (page: string): Promise<string[]> =>
      (await codeBlocksOf(page)).filter(({ language }) => language === 'sh').map(({ code }) => code);
    const flow = (await commandsOf('README.md')).find((code) => code.includes('call() {')) ?? '';
    const key = (await commandsOf('docs/api/README.md')).find((code) => code.startsWith('call ')) ?? '';
    const others = (await Promise.all(PAGES.map((page) => commandsOf(`docs/${page}.md`)))).flat();
    expect(others.length).toBeGreaterThan(6);
    const script = [flow, 'cat stream.txt', key, ...others].map(asEntered);
    const file = join(folder, 'flow.sh');
    await writeFile(file, `set -euo pipefail\n${script.join(`\necho '${END}'\n`)}\n`);
    const [first = '', stream = '', made = '', ...answers] = (await run('bash', [file])).split(END);

    for (const answer of [first, made, ...answers]) expect(answer).not.toMatch(/"(?:status|code)":\s?[45]\d\d,/);
    expect(first).toMatch(/^\{"taskId":"[\w-]+"\}$/m);
    const messages = JSON.parse(first.trimEnd().split('\n').at(-1) ?? '');
    expect(messages.items.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant']);
    // The stream in the other terminal carried the run, up to its end.
    expect(stream).toContain('"delta":"Hello"');
    expect(stream.trimEnd().endsWith('data: [DONE]')).toBe(true);
    expect(JSON.parse(made)).toMatchObject({ name: 'support-bot', key: expect.stringMatching(/^sbx_/) });
    const rest = answers.join('\n');
    // Waited for, streamed, scheduled, handed to a browser, and called through the proxy.
    expect(rest).toMatch(/"status":"completed".*"message":/);
    expect(rest.match(/data: \[DONE\]/g)).toHaveLength(1);
    expect(rest).toContain('"title":"Morning report"');
    expect(rest).toContain('"token":"');
    expect(rest.match(/Echo: hi/g)).toHaveLength(2);
    expect(rest).toContain('"connection_type":"STDIO"');
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
