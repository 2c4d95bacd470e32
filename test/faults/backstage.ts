import { setTimeout as sleep } from 'node:timers/promises';
import { type McpUpstream, startMcpUpstream } from '../../src/boot/testing/mcp-upstream.js';
import { startScriptedModel } from '../../src/boot/testing/scripted-model.js';
import type { ChatRequest } from '../../src/boot/testing/chat-completions.js';
import type { ModelBehaviour } from '../../src/boot/testing/model-server.js';

/** How a call that needs an approval is answered; `both` says yes and no at the same time, at two processes. */
export type Decision = 'approve' | 'deny' | 'both';

/** What the model does in a run, as the text of the user's message. */
export interface RunPlan {
  /** Names the run for the tools. */
  readonly run: string;
  /** The words before each step's tool calls, with one step for each number. */
  readonly steps: readonly number[];
  /** The words of the answer after the last step. */
  readonly words: number;
  readonly wordMs: number;
  readonly toolMs: number;
  /** The first step also pays, which needs an approval. */
  readonly payment?: { readonly decision: Decision; readonly afterMs: number };
}

/** The servers behind the service: a model and an MCP server, which no fault of the trial concerns. */
export interface Backstage {
  readonly modelUrl: string;
  readonly upstreamUrl: string;
  /** How often the tool that is not idempotent was called, by run. */
  readonly bookings: ReadonlyMap<string, number>;
  /** How often the tool that needs an approval was called, by run. */
  readonly payments: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

const properties = { run: { type: 'string' }, ms: { type: 'number' } };
const inputSchema = { type: 'object' as const, properties, required: ['run'] };

/** The tool that needs an approval. */
export const GATED_TOOL = 'pay';

/** Starts both. The first step of a run books, looks up, and in some runs pays; every later one only looks up. */
export async function startBackstage(): Promise<Backstage> {
  const bookings = new Map<string, number>();
  const payments = new Map<string, number>();
  const counted = (calls: Map<string, number>, done: string) => ({
    inputSchema,
    async handler({ run, ms }: Record<string, unknown>) {
      const name = String(run);
      calls.set(name, (calls.get(name) ?? 0) + 1);
      await sleep(Number(ms));
      return `${done} ${name}`;
    },
  });
  const upstream: McpUpstream = await startMcpUpstream({
    book: counted(bookings, 'booked'),
    [GATED_TOOL]: counted(payments, 'paid'),
    'look-up': {
      inputSchema,
      annotations: { readOnlyHint: true },
      async handler({ run, ms }) {
        await sleep(Number(ms));
        return `looked up ${String(run)}`;
      },
    },
  });
  const model = await startScriptedModel({ answer: behaviourFor });
  return {
    modelUrl: model.baseUrl,
    upstreamUrl: upstream.url,
    bookings,
    payments,
    close: async () => {
      await Promise.all([model.close(), upstream.close()]);
    },
  };
}

/** Continues a run where its messages end. The words differ at every call, so that mixed attempts show. */
function behaviourFor({ messages }: ChatRequest): ModelBehaviour {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const plan = JSON.parse(textOf(messages[asked]?.content)) as RunPlan;
  const step = messages.slice(asked).filter(({ tool_calls: calls }) => calls !== undefined).length;
  const words = plan.steps[step];
  const { run, toolMs, wordMs: delayMs, payment } = plan;
  if (words === undefined) return { kind: 'text', deltas: randomWords(plan.words), delayMs };
  const call = { run, ms: toolMs };
  const calls = [{ name: 'look-up', arguments: call }];
  if (step === 0) calls.unshift({ name: 'book', arguments: call });
  if (step === 0 && payment !== undefined) calls.push({ name: GATED_TOOL, arguments: call });
  return { kind: 'tool-calls', deltas: randomWords(words), delayMs, calls };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return (content as { text: string }[]).map(({ text }) => text).join('');
}

function randomWords(count: number): string[] {
  return Array.from({ length: count }, () => `${Math.random().toString(36).slice(2, 8)} `);
}
