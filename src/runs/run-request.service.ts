import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AgentsService } from '../agents/records/agents.service.js';
import { holdsCredential } from '../common/credential-forms.js';
import { DomainError } from '../common/domain-error.js';
import { newId } from '../common/ids.js';
import type { Principal } from '../common/principal.js';
import { requireRunAccess } from '../common/run-access.js';
import { DEFAULT_TIER } from '../common/tier.js';
import type { TraceContext } from '../telemetry/trace-context.js';
import { OrganizationCaps } from '../limits/organization-caps.js';
import { type RunRoom, RunPosting } from './records/run-posting.js';
import { ThreadService } from '../threads/thread.service.js';
import type { RunRequest } from './run-request.dto.js';
import { RunQueue } from './run-queue.js';

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

/** Accepts a run request: checks it, stores it, and enqueues its execution. */
@Injectable()
export class RunRequestService {
  constructor(
    private readonly threads: ThreadService,
    private readonly agents: AgentsService,
    private readonly posting: RunPosting,
    private readonly queue: RunQueue,
    private readonly caps: OrganizationCaps,
  ) {}

  /** @throws DomainError for every fault of the request; nothing is stored then */
  async requestRun(threadId: string, request: RunRequest, call: RunRequestCall): Promise<AcceptedRun> {
    const idempotency = idempotencyOf(call.idempotencyKey, request);
    const organizationId = call.caller.organization.id;
    const agent = await this.agents.findForRun(organizationId, request.agent.id);
    if (agent === undefined || agent.status === 'inactive') {
      // A missing thread is reported first; otherwise posting reports it.
      await this.threads.requireExisting(organizationId, threadId);
      throw agent === undefined ? unknownAgent() : new DomainError('connection_unavailable', 'The agent is inactive.');
    }
    requireRunAccess(call.caller, agent.id);
    const room = this.roomOf(call.caller.organization);
    const run = {
      organizationId,
      threadId,
      agentId: agent.id,
      userId: call.caller.userId,
      apiKeyId: call.caller.apiKeyId,
      grantId: call.caller.grantId,
      requestId: call.requestId,
      trace: call.trace,
      tier: request.tier ?? agent.tier ?? DEFAULT_TIER,
      temperature: request.temperature ?? null,
      messages: request.messages.map(({ id, role, parts }) => ({ id: id ?? newId(), role, parts })),
      idempotency,
    };
    const posted = await this.posting.postRun(run, room);
    if (posted.isHead) await this.queue.enqueue({ runId: posted.runId, attempt: 1 });
    return { taskId: posted.runId, isRepeated: posted.isRepeated };
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
}

/** The data of a run request outside its body. */
export interface RunRequestCall {
  caller: Principal;
  requestId: string;
  /** The trace that the run belongs to. */
  trace: TraceContext | undefined;
  idempotencyKey: string | undefined;
}

function idempotencyOf(key: string | undefined, request: object): { key: string; hash: string } | undefined {
  if (key === undefined) return undefined;
  if (!IDEMPOTENCY_KEY.test(key) || holdsCredential(key)) {
    const message = 'Must be 1 to 255 printable ASCII characters and must not contain a credential.';
    throw new DomainError('invalid_request', `Idempotency-Key: ${message}`, [
      { path: 'Idempotency-Key', code: 'matches', message },
    ]);
  }
  return { key, hash: createHash('sha256').update(JSON.stringify(request)).digest('hex') };
}

function unknownAgent(): DomainError {
  return new DomainError('agent_not_found', 'There is no agent with this id in the organization.', [
    { path: 'agent.id', code: 'agent_not_found', message: 'This agent does not exist.' },
  ]);
}
