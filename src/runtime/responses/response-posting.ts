import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import type { RunnableAgent } from '../../agents/records/agent.js';
import { AgentsService } from '../../agents/records/agents.service.js';
import { DomainError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import { isRecord } from '../../core/is-record.js';
import { requirePermission } from '../../core/require-permission.js';
import {
  idempotencyOf,
  type AcceptedRun,
  type RunRequestCall,
  RunRequestService,
} from '../runs/run-request.service.js';
import type { RunRequest } from '../runs/run-request.dto.js';
import { ThreadService } from '../threads/thread.service.js';
import { ConversationTail } from './conversation-tail.js';
import { instructionsId, questionId, type QuestionMode, responseId, runOfItem } from './response-ids.js';
import { ResponseApprovals } from './response-approvals.js';
import { asFaultOfInput, fault, type ParsedInput, parseInput, textOf } from './response-input.js';
import { PreviousResponses } from './previous-responses.js';
import type { ResponseRequest } from './response-request.dto.js';

const MAX_TITLE_LENGTH = 80;

/** A response request that was checked: the thread that it is for, and how its run is started. */
export interface CheckedResponse {
  readonly threadId: string;
  /** The approval that the response begins with; null for the first answer of a run. */
  readonly begunBy: string | null;
  /** @throws DomainError for every fault that only posting finds; nothing is stored then */
  post(): Promise<AcceptedRun>;
  /** The same on a copy of the thread, if that has gone on meanwhile: `post` throws `OvertakenError` then. */
  branch?(): CheckedResponse;
}

/** A request with its input, and the call that it came with. */
interface Asked {
  readonly request: ResponseRequest;
  readonly input: ParsedInput;
  readonly call: RunRequestCall;
}

/** Turns response requests into runs on threads. */
@Injectable()
export class ResponsePosting {
  constructor(
    private readonly threads: ThreadService,
    private readonly agents: AgentsService,
    private readonly requests: RunRequestService,
    private readonly previous: PreviousResponses,
    private readonly approvals: ResponseApprovals,
    private readonly tail: ConversationTail,
  ) {}

  /** @throws DomainError for every fault of the request that is found before it is posted */
  async check(request: ResponseRequest, call: RunRequestCall): Promise<CheckedResponse> {
    const asked = { request, input: parseInput(request.input), call };
    refuseTools(request);
    const conversation = conversationOf(request);
    const previous = previousOf(asked);
    if (conversation !== undefined && request.previous_response_id != null) {
      throw fault('invalid_request', 'previous_response_id', 'Cannot be combined with conversation.');
    }
    if (request.store === false) refuseUnstorable(asked, conversation ?? previous);
    if (asked.input.approvals.length > 0) return this.continueRun(asked, conversation);
    if (conversation !== undefined) return this.continueThread(conversation, asked);
    return previous === undefined ? this.beginThread(asked) : this.continueResponse(previous, asked);
  }

  private async beginThread(asked: Asked): Promise<CheckedResponse> {
    const { request, input, call } = asked;
    const { caller } = call;
    if (request.model == null) throw fault('invalid_request', 'model', 'Must be the id or the slug of an agent.');
    const [first] = input.earlier;
    if (first !== undefined) {
      throw fault('input_mismatch', first.path, 'Name the conversation with conversation or previous_response_id.');
    }
    requirePermission(caller, 'COLLECTION_THREADS_CREATE');
    const agent = await this.agentFor(request, caller.organization.id);
    const key = keyOf(call);
    const threadId = key ?? newId();
    const metadata = request.metadata ?? {};
    const untagged = { ...asked, request: { ...request, metadata: null } };
    const post = async (): Promise<AcceptedRun> => {
      const thread = { id: threadId, title: titleOf(input), virtual_mcp_id: agent.id, metadata };
      await this.threads.create(thread, caller, request.store === false);
      return this.postToNew(threadId, agent.id, untagged, { previous: null, tail: threadId });
    };
    return { threadId, begunBy: null, post };
  }

  private async continueThread(threadId: string, asked: Asked): Promise<CheckedResponse> {
    const { caller } = asked.call;
    await this.threads.requireRunnable(caller, threadId);
    requireMetadataPermission(asked);
    const { virtualMcpId, isTransient } = await this.threads.findThread(caller.organization.id, threadId);
    if (isTransient) throw fault('run_not_found', 'conversation', 'Its response is not stored, and is not continued.');
    const agent = await this.agentFor(asked.request, caller.organization.id, virtualMcpId);
    await this.tail.require(caller, { threadId }, asked.input.earlier);
    const tail = keyOf(asked.call) ?? newId();
    const post = (): Promise<AcceptedRun> => this.postTo(threadId, agent.id, asked, { previous: null, tail });
    return { threadId, begunBy: null, post };
  }

  private async continueResponse(previousId: string, asked: Asked): Promise<CheckedResponse> {
    const { request, input, call } = asked;
    const { caller } = call;
    if (keyOf(call) !== undefined) {
      throw fault('invalid_request', 'Idempotency-Key', 'Is not taken with a previous response. Use conversation.');
    }
    const place = await this.previous.find(caller, previousId, request.previous_response_id != null);
    const { run, uuid: previous } = place;
    requireMetadataPermission(asked);
    const agent = await this.agentFor(request, caller.organization.id, run.agentId);
    await this.tail.require(caller, { threadId: run.threadId, upTo: run.position }, input.earlier);
    const branch = (): CheckedResponse => {
      requirePermission(caller, 'THREAD_COPY');
      const threadId = newId();
      const post = async (): Promise<AcceptedRun> => {
        await this.previous.copy(place, threadId, caller);
        return this.postToNew(threadId, agent.id, asked, { previous, tail: threadId });
      };
      return { threadId, begunBy: null, post };
    };
    if (place.isFollowed) return branch();
    const post = (): Promise<AcceptedRun> =>
      this.postTo(run.threadId, agent.id, asked, { previous, tail: newId(), follows: place.lastRunId });
    return { threadId: run.threadId, begunBy: null, post, branch };
  }

  private async continueRun(
    { request, input, call }: Asked,
    conversation: string | undefined,
  ): Promise<CheckedResponse> {
    const { caller } = call;
    const run = await this.approvals.findAsking(caller, input.approvals);
    const previous = request.previous_response_id;
    if (conversation !== undefined && conversation !== run.threadId) {
      throw fault('input_mismatch', 'conversation', 'The approval requests are of another conversation.');
    }
    if (previous != null && (await this.previous.runOf(caller, previous)) !== run.id) {
      throw fault('input_mismatch', 'previous_response_id', 'The approval requests are of another response.');
    }
    await this.agentFor(request, caller.organization.id, run.agentId);
    await this.tail.require(caller, { threadId: run.threadId }, input.earlier);
    const post = async (): Promise<AcceptedRun> => {
      await this.approvals.answer(run, input.approvals, caller);
      return { taskId: run.id, isRepeated: true };
    };
    return { threadId: run.threadId, begunBy: input.approvals[0]?.approvalId ?? null, post };
  }

  /**
   * The agent that the request names, or that of its thread.
   * @throws DomainError `agent_not_found`; `agent_mismatch` if they differ; `invalid_request` for another format
   */
  private async agentFor(request: ResponseRequest, organizationId: string, ofThread?: string): Promise<RunnableAgent> {
    const agent = await this.agents.findNamed(organizationId, request.model ?? ofThread ?? '');
    if (agent === undefined)
      throw fault('agent_not_found', 'model', 'There is no agent with this id or slug in the organization.');
    if (ofThread !== undefined && agent.id !== ofThread) {
      throw fault('agent_mismatch', 'model', 'This is not the agent of the conversation.');
    }
    requireFormat(request, agent);
    return agent;
  }

  /** A thread whose first message is refused is not kept, unless another request with its key can have it. */
  private async postToNew(
    ...[threadId, agentId, asked, place]: Parameters<ResponsePosting['postTo']>
  ): Promise<AcceptedRun> {
    try {
      return await this.postTo(threadId, agentId, asked, place);
    } catch (error) {
      if (error instanceof DomainError && asked.call.idempotencyKey === undefined)
        await this.threads.delete(threadId, asked.call.caller).catch(() => undefined);
      throw error;
    }
  }

  private async postTo(
    threadId: string,
    agentId: string,
    { request, input, call }: Asked,
    place: { previous: string | null; tail: string; follows?: string },
  ): Promise<AcceptedRun> {
    const { instructions, temperature } = request;
    const system = input.system.map((text) => ({ role: 'system' as const, parts: [{ type: 'text' as const, text }] }));
    const messages: RunRequest['messages'] = [
      ...(instructions
        ? [
            {
              id: instructionsId(place.tail),
              role: 'system' as const,
              parts: [{ type: 'text' as const, text: instructions }],
            },
          ]
        : []),
      ...system,
      {
        id: questionId({ ...place, mode: modeOf(request) }),
        role: 'user',
        parts: [...(input.question ?? [])],
      },
    ];
    const run = { agent: { id: agentId }, messages, ...(temperature != null && { temperature }) };
    const added = { follows: place.follows, metadata: request.metadata ?? undefined };
    return this.requests.requestRun(threadId, run, call, added).catch((error: unknown) => {
      throw asFaultOfInput(error, input);
    });
  }
}

function modeOf({ background, store }: ResponseRequest): QuestionMode {
  if (store === false) return 'transient';
  return background === true ? 'background' : 'foreground';
}

/** @throws DomainError `invalid_request` for what needs a stored response, of a request that wants none */
function refuseUnstorable({ request, input, call }: Asked, continued: string | undefined): void {
  if (request.background === true) throw fault('invalid_request', 'background', 'Needs a response that is stored.');
  if (continued !== undefined || input.approvals.length > 0) {
    throw fault('invalid_request', 'store', 'Must not be false: the response continues a conversation that is stored.');
  }
  if (call.idempotencyKey === undefined) return;
  throw fault('invalid_request', 'Idempotency-Key', 'Is not taken for a response that is not stored.');
}

/** @throws DomainError `permission_denied` if the request changes the metadata of a thread, and the caller may not */
function requireMetadataPermission({ request, call }: Asked): void {
  if (request.metadata != null) requirePermission(call.caller, 'COLLECTION_THREADS_UPDATE');
}

/** The response that the request continues: it names it, or sends an item of it again. */
function previousOf({ request, input }: Asked): string | undefined {
  if (request.previous_response_id != null) return request.previous_response_id;
  const runId = input.earlier.flatMap(({ id }) => (id === undefined ? [] : (runOfItem(id) ?? []))).at(-1);
  return runId === undefined ? undefined : responseId(runId);
}

/**
 * An id that requests of the same caller with the same `Idempotency-Key` have in common; undefined without one.
 * @throws DomainError `invalid_request` for a malformed key
 */
function keyOf({ caller, idempotencyKey }: RunRequestCall): string | undefined {
  return idempotencyOf(idempotencyKey, { caller: caller.callerId, key: idempotencyKey })?.hash;
}

/** @throws DomainError `invalid_request` */
function conversationOf({ conversation }: ResponseRequest): string | undefined {
  if (conversation === undefined || conversation === null) return undefined;
  const id = isRecord(conversation) ? conversation['id'] : conversation;
  if (typeof id === 'string') return id;
  throw fault('invalid_request', 'conversation', 'Must be the id of a thread, or an object with its id.');
}

/** The beginning of the question. */
function titleOf({ question = [] }: ParsedInput): string {
  const [line = ''] = textOf(question).trim().split('\n', 1);
  return line.slice(0, MAX_TITLE_LENGTH).toWellFormed().trim() || 'Response';
}

/**
 * Refuses what only the agent decides: its tools.
 * @throws DomainError `tools_unsupported`
 */
function refuseTools({ tools, tool_choice: choice }: ResponseRequest): void {
  const isEmpty = tools === undefined || tools === null || (Array.isArray(tools) && tools.length === 0);
  if (!isEmpty)
    throw fault('tools_unsupported', 'tools', 'The agent has its tools; those of the caller are not called.');
  if (choice === undefined || choice === null || choice === 'auto') return;
  throw fault('tools_unsupported', 'tool_choice', 'Must be auto: the agent has its tools.');
}

/**
 * Refuses a format that the agent does not answer in.
 * @throws DomainError `invalid_request`
 */
function requireFormat({ text }: ResponseRequest, { outputSchema }: Pick<RunnableAgent, 'outputSchema'>): void {
  if (text === undefined || text === null) return;
  if (!isRecord(text)) throw fault('invalid_request', 'text', 'Must be an object.');
  const { format } = text;
  if (format === undefined || format === null) return;
  if (!isRecord(format)) throw fault('invalid_request', 'text.format', 'Must be an object.');
  if (format['type'] === 'text') return;
  if (format['type'] !== 'json_schema') {
    throw fault(
      'invalid_request',
      'text.format.type',
      'Must be text, or json_schema with the output schema of the agent.',
    );
  }
  if (outputSchema === null) {
    throw fault('invalid_request', 'text.format', 'The agent has no output schema: it answers with text.');
  }
  if (isDeepStrictEqual(format['schema'], JSON.parse(outputSchema))) return;
  throw fault('invalid_request', 'text.format.schema', 'Must equal the output schema of the agent.');
}
