import { Injectable } from '@nestjs/common';
import { AgentsService } from '../../agents/records/agents.service.js';
import { DomainError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import { isRecord } from '../../core/is-record.js';
import { requirePermission } from '../../core/require-permission.js';
import type { RunRequest } from '../runs/run-request.dto.js';
import { type AcceptedRun, type RunRequestCall, RunRequestService } from '../runs/run-request.service.js';
import { ThreadService } from '../threads/thread.service.js';
import { instructionsId, questionId, type QuestionFacts } from './question-id.js';
import { fault, type ParsedInput, parseInput, textOf } from './response-input.js';
import type { ResponseRequest } from './response-request.dto.js';

const MAX_TITLE_LENGTH = 80;

/** A response request that was checked: the thread that it is for, and how its run is posted. */
export interface CheckedResponse {
  readonly threadId: string;
  /** @throws DomainError for every fault that only posting finds; nothing is stored then */
  post(): Promise<AcceptedRun>;
}

/** Turns response requests into runs on threads. */
@Injectable()
export class ResponsePosting {
  constructor(
    private readonly threads: ThreadService,
    private readonly agents: AgentsService,
    private readonly requests: RunRequestService,
  ) {}

  /**
   * @throws DomainError for every fault of the request that is found before it is posted; a new thread is stored when
   *   the run is posted
   */
  async check(request: ResponseRequest, call: RunRequestCall): Promise<CheckedResponse> {
    const input = parseInput(request.input);
    refuseTools(request);
    if (request.store === false) throw fault('invalid_request', 'store', 'Must be true: responses are stored as runs.');
    if (request.previous_response_id != null) {
      throw fault('invalid_request', 'previous_response_id', 'Is not supported yet. Use conversation.');
    }
    const conversation = conversationOf(request);
    if (input.question === undefined || input.earlier.length > 0) {
      throw fault('input_mismatch', 'input', 'Send the new user message only.');
    }
    return conversation === undefined
      ? this.beginThread(request, input, call)
      : this.continueThread(conversation, request, input, call);
  }

  private async beginThread(
    request: ResponseRequest,
    input: ParsedInput,
    call: RunRequestCall,
  ): Promise<CheckedResponse> {
    const { caller } = call;
    if (request.model == null) throw fault('invalid_request', 'model', 'Must be the id of an agent.');
    requirePermission(caller, 'COLLECTION_THREADS_CREATE');
    const threadId = newId();
    const data = {
      id: threadId,
      title: titleOf(input),
      virtual_mcp_id: await this.agentOf(request.model, caller.organization.id),
      ...(request.metadata != null && { metadata: request.metadata }),
    };
    const post = async (): Promise<AcceptedRun> => {
      await this.threads.create(data, caller);
      try {
        return await this.postTo(
          threadId,
          data.virtual_mcp_id,
          { request, input, previous: null, tail: newId() },
          call,
        );
      } catch (error) {
        if (error instanceof DomainError) await this.threads.delete(threadId, caller).catch(() => undefined);
        throw error;
      }
    };
    return { threadId, post };
  }

  private async continueThread(
    threadId: string,
    request: ResponseRequest,
    input: ParsedInput,
    call: RunRequestCall,
  ): Promise<CheckedResponse> {
    const { caller } = call;
    await this.threads.requireRunnable(caller, threadId);
    const { virtualMcpId } = await this.threads.findThread(caller.organization.id, threadId);
    const agentId = request.model == null ? virtualMcpId : await this.agentOf(request.model, caller.organization.id);
    if (request.metadata != null) requirePermission(caller, 'COLLECTION_THREADS_UPDATE');
    const post = async (): Promise<AcceptedRun> => {
      if (request.metadata != null) await this.threads.update(threadId, { metadata: request.metadata }, caller);
      return this.postTo(threadId, agentId, { request, input, previous: null, tail: newId() }, call);
    };
    return { threadId, post };
  }

  /** @throws DomainError `agent_not_found` */
  private async agentOf(model: string, organizationId: string): Promise<string> {
    const agent = await this.agents.findForRun(organizationId, model);
    if (agent !== undefined) return agent.id;
    throw fault('agent_not_found', 'model', 'There is no agent with this id in the organization.');
  }

  private postTo(
    threadId: string,
    agentId: string,
    { request, input, ...facts }: { request: ResponseRequest; input: ParsedInput } & Omit<QuestionFacts, 'background'>,
    call: RunRequestCall,
  ): Promise<AcceptedRun> {
    const background = request.background === true;
    const run: RunRequest = {
      agent: { id: agentId },
      ...(request.temperature != null && { temperature: request.temperature }),
      messages: [
        ...(request.instructions
          ? [{ id: instructionsId(facts.tail), role: 'system' as const, parts: [textPart(request.instructions)] }]
          : []),
        ...input.system.map((text) => ({ role: 'system' as const, parts: [textPart(text)] })),
        { id: questionId({ ...facts, background }), role: 'user', parts: [...(input.question ?? [])] },
      ],
    };
    return this.requests.requestRun(threadId, run, call);
  }
}

function textPart(text: string): RunRequest['messages'][number]['parts'][number] {
  return { type: 'text', text };
}

/** @throws DomainError `tools_unsupported` */
function refuseTools({ tools, tool_choice: choice }: ResponseRequest): void {
  const isEmpty = tools === undefined || tools === null || (Array.isArray(tools) && tools.length === 0);
  if (!isEmpty)
    throw fault('tools_unsupported', 'tools', 'The agent has its tools; those of the caller are not called.');
  if (choice === undefined || choice === null || choice === 'auto') return;
  throw fault('tools_unsupported', 'tool_choice', 'Must be auto: the agent has its tools.');
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
