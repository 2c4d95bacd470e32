import { setTimeout as sleep } from 'node:timers/promises';
import type { PendingApprovalItem } from '../../runtime/runs/records/approval.dto.js';
import type { RunItem, RunPage } from '../../runtime/runs/records/run.dto.js';
import type { MessageItem, MessagePage, ThreadItem } from '../../runtime/threads/thread.dto.js';
import { type ApiClient, UnexpectedStatusError } from './api-client.js';
import {
  type CollectedStream,
  type OpenedStream,
  openStream,
  PATIENCE_MS,
  type StreamOptions,
  textOf,
} from './thread-stream.js';

const POLL_MS = 25;

export interface PostOptions {
  tier?: string;
  temperature?: number;
  /** The id of the user message. */
  messageId?: string;
  /** System messages of this run. */
  system?: string[];
  idempotencyKey?: string;
}

/** The answer of a run, as received on the stream. */
export interface Answer extends CollectedStream {
  taskId: string;
  text: string;
}

/** A client for one thread. */
export class ThreadClient {
  constructor(
    private readonly client: ApiClient,
    readonly agentId: string,
    readonly id: string,
  ) {}

  /**
   * Posts a user message and returns the `taskId` of its run.
   * @throws UnexpectedStatusError unless the status is 202
   */
  async post(text: string, options: PostOptions = {}): Promise<string> {
    const { tier, temperature, messageId, system = [], idempotencyKey } = options;
    const body = {
      messages: [
        ...system.map((line) => ({ role: 'system', parts: [{ type: 'text', text: line }] })),
        { ...(messageId !== undefined && { id: messageId }), role: 'user', parts: [{ type: 'text', text }] },
      ],
      agent: { id: this.agentId },
      ...(tier !== undefined && { tier }),
      ...(temperature !== undefined && { temperature }),
    };
    const headers: Record<string, string> = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
    const response = await this.client.send<{ taskId: string }>(this.path('messages'), body, headers);
    if (response.status !== 202) throw new UnexpectedStatusError('POST messages', response);
    return response.body.taskId;
  }

  /** Opens the thread's stream. Resolves when the service is subscribed to its chunks. */
  stream(options: StreamOptions = {}): Promise<OpenedStream> {
    const { url, org, apiKey } = this.client;
    return openStream(url, org, this.id, apiKey, options);
  }

  /** Opens the stream, posts a message, and reads the answer up to `[DONE]`. */
  async ask(text: string, options: PostOptions = {}): Promise<Answer> {
    const stream = await this.stream();
    try {
      const taskId = await this.post(text, options);
      const collected = await stream.collectUntilDone();
      return { taskId, ...collected, text: textOf(collected.chunks) };
    } finally {
      stream.close();
    }
  }

  /** Cancels one run, or all runs of the thread. */
  async cancel(taskId?: string): Promise<void> {
    const response = await this.client.send(this.path('cancel'), taskId === undefined ? {} : { taskId });
    if (response.status !== 202) throw new UnexpectedStatusError('POST cancel', response);
  }

  /** The tool calls of the thread that nobody has approved or denied yet. */
  async pendingApprovals(): Promise<PendingApprovalItem[]> {
    const runs = await this.runsWith('running', 'waiting');
    return runs.flatMap(({ pending_approvals: pending }) => pending);
  }

  /**
   * Polls until a run of the thread waits for approvals, and returns them. The run may be posted after this call.
   * @throws Error if none waits within 20 seconds
   */
  async waitForApprovals(): Promise<PendingApprovalItem[]> {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const [run] = await this.runsWith('waiting');
      if (run !== undefined && run.pending_approvals.length > 0) return run.pending_approvals;
      if (Date.now() > deadline) throw new Error('No run of the thread waits for an approval.');
      await sleep(POLL_MS);
    }
  }

  /**
   * Approves or denies a tool call. The key needs `RUN_APPROVE`.
   * @throws UnexpectedStatusError unless the status is 202
   */
  async answerApproval(id: string, approved: boolean, reason?: string): Promise<void> {
    const answer = { approved, ...(reason !== undefined && { reason }) };
    const response = await this.client.send(this.path(`approvals/${id}`), answer);
    if (response.status !== 202) throw new UnexpectedStatusError('POST approval', response);
  }

  /** All stored messages, oldest first. */
  async transcript(): Promise<MessageItem[]> {
    const messages: MessageItem[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const input = { thread_id: this.id, limit: 1000, ...(cursor !== undefined && { cursor }) };
      const page: MessagePage = await this.client.tool('COLLECTION_THREAD_MESSAGES_LIST', input);
      messages.push(...page.items);
      cursor = page.nextCursor;
    }
    return messages;
  }

  async status(): Promise<ThreadItem['status']> {
    return (await this.client.tool<{ item: ThreadItem }>('COLLECTION_THREADS_GET', { id: this.id })).item.status;
  }

  /** The record of a run: status, error, usage, steps. */
  async run(taskId: string): Promise<RunItem> {
    return (await this.client.tool<{ item: RunItem }>('RUN_GET', { id: taskId })).item;
  }

  /** Polls until the run has one of these statuses. */
  async waitFor(taskId: string, ...statuses: RunItem['status'][]): Promise<RunItem> {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const run = await this.run(taskId);
      if (statuses.includes(run.status)) return run;
      if (Date.now() > deadline) throw new Error(`The run is ${run.status}, not ${statuses.join(' or ')}.`);
      await sleep(POLL_MS);
    }
  }

  private async runsWith(...statuses: RunItem['status'][]): Promise<RunItem[]> {
    const conditions = [
      { field: ['thread_id'], operator: 'eq', value: this.id },
      { field: ['status'], operator: 'in', value: statuses },
    ];
    return (await this.client.tool<RunPage>('RUN_LIST', { where: { operator: 'and', conditions } })).items;
  }

  private path(action: string): string {
    return `agent-runtime/threads/${this.id}/${action}`;
  }
}
