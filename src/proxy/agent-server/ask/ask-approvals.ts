import { Injectable } from '@nestjs/common';
import { AnswerBudget } from '../../../core/answers/answer-budget.js';
import { DomainError } from '../../../core/domain-error.js';
import { isRecord } from '../../../core/is-record.js';
import { allows, SELF } from '../../../core/permissions.js';
import { requirePermission } from '../../../core/require-permission.js';
import { validateArguments } from '../../../core/validation/validate-input.js';
import { ApprovalRequest, MAX_REASON_LENGTH } from '../../../runtime/approvals/approval.dto.js';
import { ApprovalService } from '../../../runtime/approvals/approval.service.js';
import type { RunEntity } from '../../../runtime/runs/records/run.entity.js';
import type { RunResult } from '../../../runtime/turns/run-result.dto.js';
import { RunResultService } from '../../../runtime/turns/run-result.service.js';
import { type AskExchange, principalOf } from './asked-runs.js';

const APPROVE = 'RUN_APPROVE';
/** How much of a call's arguments a question shows. */
const MAX_ARGUMENTS_LENGTH = 4_000;
/** The fields of an answer to a request for an approval. */
const APPROVAL_SCHEMA = {
  type: 'object' as const,
  properties: {
    approve: { type: 'boolean' as const, title: 'Approve the call' },
    reason: { type: 'string' as const, title: 'Reason', maxLength: MAX_REASON_LENGTH },
  },
  required: ['approve'],
};

/** A question of a run, as a client asks it. */
export interface AskedQuestion {
  readonly method: 'elicitation/create';
  readonly params: {
    readonly mode: 'form';
    readonly message: string;
    readonly requestedSchema: typeof APPROVAL_SCHEMA;
  };
}

/** What a run waits for. */
export interface RunQuestions {
  readonly statusMessage: string;
  /** By the ids of its approvals; undefined for a caller whose answers would be refused. */
  readonly requests: Readonly<Record<string, AskedQuestion>> | undefined;
}

type Pending = RunResult['pending_approvals'];

/** True if the caller is permitted to answer the questions of runs. */
export function mayAnswer(exchange: AskExchange): boolean {
  return allows(principalOf(exchange).permissions, SELF, APPROVE);
}

/** The approvals of runs as questions to the clients that have started them. */
@Injectable()
export class AskApprovals {
  constructor(
    private readonly results: RunResultService,
    private readonly approvals: ApprovalService,
    private readonly budget: AnswerBudget,
  ) {}

  /** What the run waits for; undefined while it does not. @throws DomainError `answer_memory_exhausted` */
  async questionsOf(exchange: AskExchange, run: RunEntity): Promise<RunQuestions | undefined> {
    if (run.status !== 'waiting') return undefined;
    return this.withPending(exchange, run, (pending) => {
      if (pending.length === 0) return undefined;
      const statusMessage = `Waits for approval of ${pending.map(({ tool_name: name }) => name).join(', ')}.`;
      const asked = pending.map((approval) => [approval.id, questionFor(approval)] as const);
      return { statusMessage, requests: mayAnswer(exchange) ? Object.fromEntries(asked) : undefined };
    });
  }

  /** The same for a request that asks again: undefined also if there is no memory for them now. */
  async questionsNow(exchange: AskExchange, run: RunEntity): Promise<RunQuestions | undefined> {
    try {
      return await this.questionsOf(exchange, run);
    } catch (error) {
      if (error instanceof DomainError && error.code === 'answer_memory_exhausted') return undefined;
      throw error;
    }
  }

  /**
   * Takes a client's answers. Those for what is not asked are ignored.
   * @param responses by the ids of approvals
   * @throws DomainError `invalid_arguments`, `permission_denied`
   */
  async takeAnswers(exchange: AskExchange, run: RunEntity, responses: unknown): Promise<void> {
    if (!isRecord(responses)) throw new DomainError('invalid_arguments', '`inputResponses` must be an object.');
    const principal = principalOf(exchange);
    requirePermission(principal, APPROVE);
    // All of them are checked before one counts.
    const answers = await this.withPending(exchange, run, (pending) =>
      pending.flatMap(({ id }) => {
        const answer = Object.hasOwn(responses, id) ? verdictOf(responses[id]) : undefined;
        return answer === undefined ? [] : [[id, answer] as const];
      }),
    );
    for (const [approvalId, answer] of answers) {
      try {
        await this.approvals.answer({ threadId: run.threadId, approvalId }, answer, principal);
      } catch (error) {
        if (!(error instanceof DomainError) || error.code !== 'approval_closed') throw error;
      }
    }
  }

  /** Holds the memory of the calls' arguments, which can be long, only for the reading. */
  private async withPending<T>(exchange: AskExchange, run: RunEntity, read: (pending: Pending) => T): Promise<T> {
    const held = this.budget.openAnswer(principalOf(exchange));
    try {
      return read(await this.results.pendingOf(run, held));
    } finally {
      held.release();
    }
  }
}

function questionFor(approval: Pending[number]): AskedQuestion {
  const { tool_name: name, connection_title: title, connection_host: host, input } = approval;
  const of = [title, host && `(${host})`].filter(Boolean).join(' ');
  const args = JSON.stringify(input);
  const rest = args.length - MAX_ARGUMENTS_LENGTH;
  const shown = args.slice(0, MAX_ARGUMENTS_LENGTH).toWellFormed();
  const cut = rest > 0 ? `… (${rest} more characters, which the console shows)` : '';
  const message = `The agent asks to call ${name}${of && ` of ${of}`} with the arguments ${shown}${cut}`;
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: APPROVAL_SCHEMA } };
}

/**
 * What a person has answered; undefined for a cancelled question, which stays open.
 * @throws DomainError `invalid_arguments`
 */
function verdictOf(response: unknown): ApprovalRequest | undefined {
  const { action, content } = isRecord(response) ? response : {};
  if (action === 'cancel') return undefined;
  if (action === 'decline') return { approved: false };
  if (action !== 'accept') throw new DomainError('invalid_arguments', '`action` must be accept, decline or cancel.');
  const { approve: approved, reason } = isRecord(content) ? content : {};
  // Forms send empty texts for fields that were left out.
  return validateArguments(ApprovalRequest, { approved, ...(reason !== undefined && reason !== '' && { reason }) });
}
