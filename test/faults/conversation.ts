import { type Caller, FaultError } from './caller.js';
import { type Approval, Approver } from './approver.js';
import type { RunPlan } from './backstage.js';
import { Random } from './random.js';
import { type Reading, RunReader } from './run-reader.js';

/** A run that the service has accepted. */
export interface AcceptedRun {
  readonly taskId: string;
  readonly plan: RunPlan;
  /** The text of its user message. */
  readonly text: string;
}

/** What one thread's client did and saw. */
export interface Conversation {
  readonly threadId: string;
  readonly accepted: AcceptedRun[];
  readonly readings: { readonly taskId: string; readonly reading: Reading }[];
  readonly approvals: Approval[];
  /** Posts that were sent again, because their connection broke. */
  repeatedPosts: number;
  readonly faults: string[];
}

const AHEAD = 2;

interface ConversationOptions {
  readonly agentId: string;
  readonly threadId: string;
  readonly runs: number;
  /** Called for each run that has been read to its end, or will never be. */
  readonly onOver: () => void;
  /** The last message is posted after this. */
  readonly beforeLast: Promise<void>;
}

/** Posts messages to a thread of its own, sometimes before the run before it is over, and reads every run. */
export async function converse(
  caller: Caller,
  random: Random,
  { agentId, threadId, runs, onOver, beforeLast }: ConversationOptions,
): Promise<Conversation> {
  const conversation: Conversation = {
    threadId,
    accepted: [],
    readings: [],
    approvals: [],
    repeatedPosts: 0,
    faults: [],
  };
  const approver = new Approver(caller, threadId);
  // Of its own, so that the number of payments does not depend on the timing of the rest.
  const luck = new Random(`payments ${random.next()}`);
  const reading: Promise<void>[] = [];
  try {
    const data = { id: threadId, title: 'Trial', virtual_mcp_id: agentId };
    await caller.tool('COLLECTION_THREADS_CREATE', { data });
    for (let i = 0; i < runs; i++) {
      if (i === runs - 1) await beforeLast;
      if (!random.chance(0.3) || reading.length >= AHEAD) await Promise.all(reading.splice(0));
      const isIdle = reading.length === 0;
      const { promise: taskId, resolve, reject } = Promise.withResolvers<string>();
      taskId.catch(() => undefined);
      const isEarly = isIdle && random.chance(0.4);
      const readers = await Promise.all(
        Array.from({ length: random.integer(1, 2) }, () =>
          new RunReader(caller, random, { threadId, taskId, isEarly }).open(),
        ),
      );
      const run = await post(caller, random, { agentId, conversation, plan: planOf(`${threadId}-${i}`, random, luck) });
      if (run === undefined) {
        reject(new FaultError('The post was not accepted.'));
        break;
      }
      conversation.accepted.push(run);
      resolve(run.taskId);
      const answering = approve(approver, run, conversation);
      reading.push(Promise.all([readAll(run.taskId, readers, conversation), answering]).then(onOver));
    }
  } catch (error) {
    conversation.faults.push(error instanceof FaultError ? error.message : String((error as Error).stack));
  }
  for (let missing = runs - conversation.accepted.length; missing > 0; missing--) onOver();
  await Promise.all(reading);
  return conversation;
}

async function readAll(
  taskId: string,
  readers: readonly (() => Promise<Reading>)[],
  { readings, faults }: Conversation,
): Promise<void> {
  for (const result of await Promise.allSettled(readers.map((read) => read()))) {
    if (result.status === 'fulfilled') readings.push({ taskId, reading: result.value });
    else faults.push(String(result.reason));
  }
}

async function approve(approver: Approver, { taskId, plan }: AcceptedRun, conversation: Conversation): Promise<void> {
  if (plan.payment === undefined) return;
  try {
    conversation.approvals.push(await approver.answer(taskId, plan.payment));
  } catch (error) {
    conversation.faults.push(String(error));
  }
}

/** Posts a message under a key of its own, at times twice. Undefined, with a fault, if it is not accepted. */
async function post(
  caller: Caller,
  random: Random,
  { agentId, conversation, plan }: { agentId: string; conversation: Conversation; plan: RunPlan },
): Promise<AcceptedRun | undefined> {
  const text = JSON.stringify(plan);
  const path = `agent-runtime/threads/${conversation.threadId}/messages`;
  const input = { messages: [{ role: 'user', parts: [{ type: 'text', text }] }], agent: { id: agentId } };
  const taskIds = new Set<string>();
  for (let posts = random.chance(0.1) ? 2 : 1; posts > 0; posts--) {
    const { status, body, broken } = await caller.post(path, input, { 'idempotency-key': plan.run });
    if (broken > 0) conversation.repeatedPosts++;
    if (status !== 202) {
      conversation.faults.push(`A post was answered with ${status}: ${JSON.stringify(body)}`);
      return undefined;
    }
    taskIds.add((body as { taskId: string }).taskId);
  }
  const [taskId = '', ...others] = taskIds;
  if (others.length > 0) conversation.faults.push(`${plan.run} was accepted as ${[...taskIds].join(' and ')}`);
  return { taskId, plan, text };
}

function planOf(run: string, random: Random, luck: Random): RunPlan {
  return {
    run,
    steps: Array.from({ length: random.integer(1, 2) }, () => random.integer(0, 12)),
    words: random.integer(5, 60),
    wordMs: random.integer(2, 25),
    toolMs: random.integer(0, 400),
    ...(luck.chance(0.25) && {
      payment: { decision: luck.pick(['approve', 'deny', 'both'] as const), afterMs: luck.integer(0, 300) },
    }),
  };
}
