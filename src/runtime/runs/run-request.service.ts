import { Injectable } from '@nestjs/common';
import { isUUID } from 'class-validator';
import { createHash } from 'node:crypto';
import type { RunnableAgent } from '../../agents/records/agent.js';
import { AgentsService } from '../../agents/records/agents.service.js';
import type { Principal } from '../../core/principal.js';
import { hasRunAccess, requireRunAccess } from '../../core/run-access.js';
import { DEFAULT_TIER, type Tier } from '../../core/tier.js';
import type { TraceContext } from '../../platform/telemetry/trace-context.js';
import { OrganizationCaps } from '../../platform/limits/organization-caps.js';
import type { NewRun } from './records/new-run.js';
import { refuse, type RunRoom, RunPosting, RunRegeneration } from './records/run-posting.js';
import { ThreadService } from '../threads/thread.service.js';
import type { RunRequest, RegenerateRequest, SteerRequest } from './run-request.dto.js';
import { RunQueue } from './run-queue.js';
import { ModelsService } from '../../agents/models/models.service.js';
import { newId } from '../../core/ids.js';
import { MessageFiles, type SentFilePart } from '../files/message-files.js';
import { holdsCredential } from '../../core/credential-forms.js';
import { faultAt, DomainError, type FieldError } from '../../core/domain-error.js';

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

/** The value of an `Idempotency-Key` header, and a hash of the request that it is used for. */
interface Idempotency {
  readonly key: string;
  readonly hash: string;
}

/** @throws DomainError `invalid_request` for a malformed key */
export function idempotencyOf(key: string | undefined, request: object): Idempotency | undefined {
  if (key === undefined) return undefined;
  if (!IDEMPOTENCY_KEY.test(key) || holdsCredential(key)) {
    const rule = 'Must be 1 to 255 printable ASCII characters and must not contain a credential.';
    throw faultAt('Idempotency-Key', 'matches', rule);
  }
  return { key, hash: createHash('sha256').update(JSON.stringify(request)).digest('hex') };
}

/** The messages of run requests, as they are stored. */
@Injectable()
export class RequestMessages {
  constructor(
    private readonly files: MessageFiles,
    private readonly models: ModelsService,
  ) {}

  holdFiles({ messages }: SteerRequest): boolean {
    return messages.some(({ parts }) => parts.some(({ type }) => type === 'file'));
  }

  /** Messages without file parts. */
  ofText({ messages }: SteerRequest): Messages {
    return messages.map(({ id, role, parts }) => ({
      id: id ?? newId(),
      role,
      parts: parts.map(({ text = '' }) => ({ type: 'text', text })),
    }));
  }

  /**
   * Messages whose file parts name stored files.
   * @param tiers of the models that can answer
   * @throws what `MessageFiles.store` throws
   */
  async withFiles(request: SteerRequest, tiers: readonly Tier[], caller: Principal): Promise<Messages> {
    const sent = request.messages.flatMap(({ parts }, m) =>
      parts.flatMap((part, p) =>
        part.type === 'file'
          ? [{ part, file: { ...part, path: `messages[${m}].parts[${p}].url` } as SentFilePart }]
          : [],
      ),
    );
    const models = await Promise.all(tiers.map((tier) => this.models.resolveModels(caller.organization.id, tier)));
    const takes = (mediaType: string): boolean => models.flat().some((model) => model.takesFile(mediaType));
    const files = sent.map(({ file }) => file);
    const stored = await this.files.store(files, takes, caller);
    const storedOf = new Map<object, (typeof stored)[number] | undefined>(
      sent.map(({ part }, index) => [part, stored[index]]),
    );
    return this.ofText(request).map((message, m) => ({
      ...message,
      parts: message.parts.map((text, p) => storedOf.get(request.messages[m]?.parts[p] as object) ?? text),
    }));
  }
}

/** Accepts a run request: checks it, stores it, and sees that it is executed. */
@Injectable()
export class RunRequestService {
  constructor(
    private readonly threads: ThreadService,
    private readonly agents: AgentsService,
    private readonly posting: RunPosting,
    private readonly regeneration: RunRegeneration,
    private readonly queue: RunQueue,
    private readonly caps: OrganizationCaps,
    private readonly messages: RequestMessages,
  ) {}

  /** @throws DomainError for every fault of the request; nothing is stored then */
  async requestRun(
    threadId: string,
    request: RunRequest,
    call: RunRequestCall,
    added: Pick<NewRun, 'follows' | 'metadata'> = {},
  ): Promise<AcceptedRun> {
    const run = await this.checkRequest(threadId, request, {
      ...call,
      idempotency: idempotencyOf(call.idempotencyKey, request),
    });
    return this.post({ ...run, ...added }, call.caller);
  }

  /**
   * The request as it is stored.
   * @param call.tiers of the models that can answer; by default that of the run
   * @throws DomainError for a fault that posting does not find
   */
  async checkRequest(
    threadId: string,
    request: RunRequest,
    { idempotency, tiers, ...call }: RunRequestCall & Pick<NewRun, 'idempotency'> & { tiers?: readonly Tier[] },
  ): Promise<NewRun> {
    requireTokenRequest(call.caller, request);
    const agentId = request.agent.id;
    // Posting checks the agent. Only a caller who cannot run it, or an agent id that is not a UUID, needs the reason
    // first. Files are stored before, so the reason comes before them.
    const holdFiles = this.messages.holdFiles(request);
    const agent =
      holdFiles || !isUUID(agentId) || !hasRunAccess(call.caller, agentId)
        ? await this.findAgent(threadId, agentId, call.caller)
        : undefined;
    if (holdFiles) await this.threads.requireExisting(call.caller.organization.id, threadId);
    return {
      ...originOf(call),
      threadId,
      agentId,
      tier: request.tier ?? null,
      temperature: request.temperature ?? null,
      messages: holdFiles
        ? await this.messages.withFiles(request, tiers ?? [request.tier ?? agent?.tier ?? DEFAULT_TIER], call.caller)
        : this.messages.ofText(request),
      idempotency,
    };
  }

  /** @throws what `RunPosting.postRun` throws */
  async post(run: NewRun, caller: Principal): Promise<AcceptedRun> {
    const room = this.roomOf(caller.organization);
    const tenant = { organizationId: run.organizationId, holderId: holderOf(caller) };
    const posted = await this.queue.postAndStart(tenant, (epoch) => this.posting.postRun(run, { room, epoch }));
    return { taskId: posted.runId, isRepeated: posted.isRepeated };
  }

  /**
   * Answers a stored question again, with the tier and the temperature that it was posted with. The earlier answer and
   * everything after it is superseded.
   * @throws DomainError for every fault of the request; nothing is stored then
   */
  async regenerate(threadId: string, { messageId }: RegenerateRequest, call: RunRequestCall): Promise<AcceptedRun> {
    const idempotency = idempotencyOf(call.idempotencyKey, { regenerate: messageId ?? null });
    const { virtualMcpId } = await this.threads.findThread(call.caller.organization.id, threadId);
    const agent = await this.findAgent(threadId, virtualMcpId, call.caller);
    const tier = agent.tier ?? DEFAULT_TIER;
    const run = { ...originOf(call), threadId, agentId: agent.id, tier, messageId, idempotency };
    const posted = await this.regeneration.postAgain(run, this.roomOf(call.caller.organization));
    if (posted.isHead) await this.queue.wakeWorker();
    return { taskId: posted.runId, isRepeated: posted.isRepeated };
  }

  /** The agent, if it can run and the caller can run it. */
  private async findAgent(threadId: string, agentId: string, caller: Principal): Promise<RunnableAgent> {
    const organizationId = caller.organization.id;
    const agent = await this.agents.findForRun(organizationId, agentId);
    if (agent === undefined || agent.status === 'inactive') {
      // A missing thread is reported first; otherwise posting reports it.
      await this.threads.requireExisting(organizationId, threadId);
      throw refuse(agent === undefined ? 'agent_not_found' : 'agent_inactive');
    }
    requireRunAccess(caller, agent.id);
    return agent;
  }

  private roomOf({ limits }: Principal['organization']): RunRoom | undefined {
    const waiting = this.caps.limitOf(limits, 'waiting_runs');
    return waiting === undefined ? undefined : { waiting, concurrent: this.caps.limitOf(limits, 'concurrent_runs') };
  }
}

/** A run request that was accepted, now or with an earlier request that had the same idempotency key. */
export interface AcceptedRun {
  taskId: string;
  isRepeated: boolean;
  /** Of a request that adds a message to a run under way. */
  steer?: {
    /** The run takes the message. */
    readonly steered: boolean;
    /** The run that takes the message if that one ends first. */
    readonly heirId: string;
  };
}

/** The data of a run request outside its body. */
export interface RunRequestCall {
  caller: Principal;
  requestId: string;
  /** The trace that the run belongs to. */
  trace: TraceContext | undefined;
  idempotencyKey: string | undefined;
}

/** Who asked for a run, and with which request. */
function originOf({ caller, requestId, trace }: RunRequestCall) {
  return {
    organizationId: caller.organization.id,
    userId: caller.userId,
    apiKeyId: caller.apiKeyId,
    grantId: caller.grantId,
    requestId,
    trace,
  };
}

/**
 * Whose share of the slots the caller's runs use; `run_post_and_start` has the same rule. Every caller has a key or is
 * a person.
 */
function holderOf({ apiKeyId, userId }: Principal): string {
  return (apiKeyId ?? userId) as string;
}

type Messages = NewRun['messages'];

/**
 * Refuses what the holder of a browser token does not decide: instructions, the tier and the temperature. Visitors of a
 * web page hold these tokens, and ask as users only.
 * @throws DomainError `permission_denied`
 */
export function requireTokenRequest({ thread }: Principal, request: RunRequest): void {
  if (thread === undefined) return;
  const { messages, tier, temperature } = request;
  const paths = [
    ...messages.flatMap(({ role }, index) => (role === 'user' ? [] : [`messages[${index}].role`])),
    ...(tier === undefined ? [] : ['tier']),
    ...(temperature === undefined ? [] : ['temperature']),
  ];
  if (paths.length === 0) return;
  const errors = paths.map((path): FieldError => ({ path, code: 'permission_denied', message: messageOf(path) }));
  const detail =
    'A browser token can post only messages with the role user, without tier and temperature: ' +
    `${paths.join(', ')}.`;
  throw new DomainError('permission_denied', detail, errors);
}

function messageOf(path: string): string {
  return path.startsWith('messages')
    ? 'A browser token can post messages with the role user only.'
    : 'A browser token cannot set this property.';
}
