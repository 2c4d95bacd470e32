import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { safeValidateUIMessages, type UIMessage } from 'ai';
import supertest from 'supertest';
import {
  connect,
  createAgent,
  type OpenedStream,
  type PostOptions,
  serveTier,
  ThreadClient,
} from '../../support/agent-runs.js';
import type { Tenant } from '../../support/tenant.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { type McpUpstream, startMcpUpstream } from '../../../src/boot/testing/mcp-upstream.js';
import type { RunItem } from '../../../src/runtime/runs/records/run.dto.js';
import type { PendingApprovalItem } from '../../../src/runtime/runs/records/approval.dto.js';

/** The tier whose model is scripted. */
export const SCRIPTED: PostOptions = { tier: 'thinking' };

/** The tools: `send` says nothing of itself, `look` only reads, `put` does not destroy, `wipe` destroys. */
export const TOOLS = {
  send: {},
  look: { annotations: { readOnlyHint: true } },
  put: { annotations: { destructiveHint: false, readOnlyHint: false } },
  wipe: { annotations: { destructiveHint: true } },
};

interface ApprovalsApp<Service extends Tenant> {
  readonly app: Service;
  readonly model: FakeOpenAI;
  readonly upstream: McpUpstream;
  readonly connectionId: string;
  /** Asks for every call. */
  readonly agentId: string;
  /** Creates an agent with all tools under this rule. */
  createAgent(approval: unknown, data?: object): Promise<string>;
  /** Posts a message on a new thread, its stream open from the beginning. */
  start(agentId: string, text: string, options?: PostOptions): Promise<StartedRun>;
}

/** A run and its stream. */
export interface StartedRun {
  readonly thread: ThreadClient;
  readonly stream: OpenedStream;
  readonly taskId: string;
}

/** Tools that answer `<name> done`. */
export function startUpstream(): Promise<McpUpstream> {
  return startMcpUpstream(
    Object.fromEntries(Object.entries(TOOLS).map(([name, tool]) => [name, { ...tool, handler: () => `${name} done` }])),
  );
}

/** Makes the scripted model the one of the tier `thinking`. */
export function useScriptedModel(app: Tenant, model: FakeOpenAI): Promise<void> {
  return serveTier(app, 'thinking', model, { model: 'scripted' });
}

/** Starts a scripted model, an upstream and, with `start`, a service for the spec file that calls this. */
export function useApprovalsApp<Service extends Tenant>(start: () => Promise<Service>): ApprovalsApp<Service> {
  const own = {
    createAgent: (approval: unknown, data?: object) => createAskingAgent(own.app, own.connectionId, approval, data),
    start: (agentId: string, text: string, options?: PostOptions) => startRun(own.app, agentId, text, options),
  } as { -readonly [Key in keyof ApprovalsApp<Service>]: ApprovalsApp<Service>[Key] };
  beforeAll(async () => {
    [own.app, own.model, own.upstream] = await Promise.all([start(), startFakeOpenAI(), startUpstream()]);
    await useScriptedModel(own.app, own.model);
    own.connectionId = await connect(own.app, own.upstream.url, 'Tools');
    own.agentId = await createAskingAgent(own.app, own.connectionId, 'all');
  });
  beforeEach(() => {
    own.upstream.calls.length = 0;
  });
  afterAll(async () => {
    await own.app?.close();
    await own.model?.close();
    await own.upstream?.close();
  });
  return own;
}

/** An agent with all tools of the connection under this rule. */
export function createAskingAgent(
  app: Tenant,
  connectionId: string,
  approval: unknown,
  data: object = {},
): Promise<string> {
  const connections = [{ connection_id: connectionId, selected_tools: null, approval }];
  return createAgent(app, [], { connections, ...data });
}

/** Answers an approval. */
export function answer(
  app: Tenant,
  threadId: string,
  approvalId: string,
  body: object,
  key = app.apiKey,
): supertest.Test {
  return supertest(app.url)
    .post(`/api/${app.org}/agent-runtime/threads/${threadId}/approvals/${approvalId}`)
    .set('authorization', `Bearer ${key}`)
    .send(body);
}

async function startRun(app: Tenant, agentId: string, text: string, options?: PostOptions): Promise<StartedRun> {
  const thread = await ThreadClient.create(app, agentId);
  const stream = await thread.stream();
  return { thread, stream, taskId: await thread.postMessage(text, options) };
}

/** A run that waits, its stream open from the beginning. */
export async function startWaiting(
  app: Tenant,
  agentId: string,
  text: string,
  options?: PostOptions,
): Promise<StartedRun & { run: RunItem; approvals: PendingApprovalItem[] }> {
  const started = await startRun(app, agentId, text, options);
  const run = await started.thread.waitFor(started.taskId, 'waiting', 'completed', 'failed');
  return { ...started, run, approvals: run.pending_approvals };
}

/** The stored message passes the check with which clients load a transcript. */
export async function validated(message: object): Promise<UIMessage> {
  const result = await safeValidateUIMessages({ messages: [message] });
  if (!result.success) throw result.error;
  return result.data[0] as UIMessage;
}

/** Makes the approvals of a run overdue: their time is at least a minute. */
export async function expire(app: Tenant, taskId: string): Promise<void> {
  await app.query('UPDATE run_approvals SET expires_at = now() WHERE run_id = $1', [taskId]);
}
