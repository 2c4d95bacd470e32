import { createInterface, type Interface } from 'node:readline/promises';
import type { Command } from 'commander';
import type { Chunk } from '../../client/src/api.js';
import type { Signalbox } from '../../client/src/signalbox.js';
import { Refusal, serviceCommand, serviceOf } from './service.js';
import { printable, say } from './terminal.js';
import { visibleJson } from '../../client/src/visible-json.js';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

interface ChatOptions {
  readonly thread?: string;
  readonly message?: string;
}

export function chatCommand(): Command {
  return serviceCommand('chat')
    .description('talk to an agent; an empty line or Ctrl-D ends')
    .argument('<agent>', 'its id or its title')
    .option('--thread <id>', 'continue this thread')
    .option('-m, --message <text>', 'send this message, print the answer, and end')
    .action(async (name: string, { thread, message }: ChatOptions, command: Command) => {
      const { signalbox } = serviceOf(command);
      const agent = await findAgent(signalbox, name);
      const threadId = thread ?? (await newThread(signalbox, agent));
      const terminal = createInterface({ input: process.stdin, output: process.stdout });
      const ask = process.stdin.isTTY ? questionsTo(terminal) : linesOf(terminal);
      try {
        const chat = { signalbox, threadId, agentId: agent.id, ask };
        if (message !== undefined) return await exchange(chat, message);
        say(`${printable(agent.title)} in thread ${threadId}`);
        for (let text = await ask('> '); text !== ''; text = await ask('> ')) await exchange(chat, text);
      } finally {
        terminal.close();
      }
    });
}

/** Asks a question. The end of the input is an empty answer. */
type Ask = (question: string) => Promise<string>;

/** What was typed before a question is shown does not answer it: nobody approves a call that they have not seen. */
function questionsTo(terminal: Interface): Ask {
  const end = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  return async (question) => (await Promise.race([terminal.question(question), end])).trim();
}

/** Each line of a pipe is an answer. */
function linesOf(terminal: Interface): Ask {
  const lines = terminal[Symbol.asyncIterator]();
  return async () => ((await lines.next()).value ?? '').trim();
}

interface Chat {
  readonly signalbox: Signalbox;
  readonly threadId: string;
  readonly agentId: string;
  readonly ask: Ask;
}

/** @param name the id or the exact title of an agent; a title that several agents have is refused */
async function findAgent(signalbox: Signalbox, name: string): Promise<{ id: string; title: string }> {
  if (UUID.test(name)) return (await signalbox.tool('COLLECTION_VIRTUAL_MCP_GET', { id: name })).item;
  const { items } = await signalbox.tool('COLLECTION_VIRTUAL_MCP_LIST', {
    where: { field: ['title'], operator: 'eq', value: name },
  });
  const [agent, other] = items;
  if (agent === undefined) throw new Refusal(`There is no agent with the title "${name}".`);
  if (other !== undefined) throw new Refusal(`${items.length} agents have the title "${name}". Use an id.`);
  return agent;
}

async function newThread(signalbox: Signalbox, agent: { id: string; title: string }): Promise<string> {
  const data = { title: `Chat with ${agent.title}`.slice(0, 200), virtual_mcp_id: agent.id };
  return (await signalbox.tool('COLLECTION_THREADS_CREATE', { data })).item.id;
}

/** Sends one message and shows the answer as it arrives. */
async function exchange({ signalbox, threadId, agentId, ask }: Chat, text: string): Promise<void> {
  const stream = await signalbox.stream(threadId, { agentId, text });
  const calls = new Map<string, string>();
  for await (const chunk of stream) {
    show(chunk);
    if (chunk.type === 'tool-input-available') calls.set(chunk.toolCallId, chunk.toolName);
    if (chunk.type !== 'tool-approval-request') continue;
    const answer = await ask(printable(`  ? May ${calls.get(chunk.toolCallId) ?? 'it'} be called? [y/N] `));
    const approved = /^y(?:es)?$/i.test(answer);
    await signalbox.approve(threadId, chunk.approvalId, { approved });
  }
}

function show(chunk: Chunk): void {
  switch (chunk.type) {
    case 'text-delta':
      process.stdout.write(printable(chunk.delta));
      return;
    case 'text-end':
      return say();
    case 'tool-input-available':
      return say(printable(`  * ${chunk.toolName} ${visibleJson(chunk.input)}`));
    case 'tool-output-available':
      return say(printable(`    -> ${textOf(chunk.output)}`));
    case 'tool-output-error':
    case 'error':
      return say(printable(`  ! ${chunk.errorText}`));
    case 'tool-output-denied':
      return say('    -> denied');
    case 'reset-step':
      return say('\n  (The step is repeated.)');
    case 'abort':
      return say('  ! The run was cancelled.');
    default:
  }
}

/** Joins the text blocks of an MCP tool result. */
function textOf(output: unknown): string {
  const { content } = (output ?? {}) as { content?: { type: string; text?: string }[] };
  if (!Array.isArray(content)) return JSON.stringify(output);
  return content.map(({ type, text }) => (type === 'text' ? text : `[${type}]`)).join('\n');
}
