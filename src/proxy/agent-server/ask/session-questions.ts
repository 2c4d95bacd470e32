import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../core/domain-error.js';
import { parseRecord } from '../../../core/is-record.js';
import { RunResultService } from '../../../runtime/turns/run-result.service.js';
import { SealedRequestIds } from '../../forwarding/session/sealed-request-ids.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';
import { type InboundMessage, takesStream } from '../../protocol/inbound-message.js';
import { AskApprovals, type AskedQuestion, mayAnswer, type RunQuestions } from './ask-approvals.js';
import { type AskExchange, principalOf } from './asked-runs.js';

/** What a question is about. */
interface Asked {
  readonly runId: string;
  readonly approvalId: string;
}

/** A request to a client. */
export interface SessionRequest {
  readonly jsonrpc: '2.0';
  readonly id: string;
  readonly method: string;
  readonly params: Record<string, unknown>;
}

/**
 * Asks clients of the legacy era for approvals, as requests in their sessions. The id of a request is sealed for the
 * session and says what it is about, so any process can take the answer, and none has to remember the question.
 */
@Injectable()
export class SessionQuestions {
  constructor(
    private readonly ids: SealedRequestIds,
    private readonly results: RunResultService,
    private readonly approvals: AskApprovals,
  ) {}

  /** True if the client shows forms in this session, and the caller's answers count. */
  canAsk(exchange: AskExchange, session: Session | undefined): session is Session {
    const showsForms = session?.answers?.elicitation?.form !== undefined;
    return showsForms && mayAnswer(exchange) && takesStream(exchange.request.headers);
  }

  /**
   * The requests that ask the client, without those of before: a person who closes a question leaves it open, and is
   * not asked again by the same request of the client.
   * @param asked the ids of approvals, to which those of the requests are added
   */
  requestsFor(
    session: Session,
    runId: string,
    questions: RunQuestions | undefined,
    asked: Set<string>,
    meta?: object,
  ): SessionRequest[] {
    const open = Object.entries(questions?.requests ?? {}).filter(([approvalId]) => !asked.has(approvalId));
    return open.map(([approvalId, question]) => {
      asked.add(approvalId);
      return this.requestFor(session, { runId, approvalId }, question, meta);
    });
  }

  /**
   * Takes the client's answer to such a request; false for any other message. An error leaves the question open.
   * @throws DomainError `invalid_rpc_request`, `permission_denied`
   */
  async takeAnswer(exchange: AskExchange, { kind, body }: InboundMessage, session: Session): Promise<boolean> {
    if (kind !== 'answer' || session.answers === undefined) return false;
    const { id, result } = parseRecord(body.toString('utf8')) ?? {};
    const asked = this.ids.open(session, id);
    if (!isAsked(asked)) return false;
    if (result === undefined) return true;
    const { runId, approvalId } = asked;
    try {
      const run = await this.results.findReadable(principalOf(exchange), runId);
      await this.approvals.takeAnswers(exchange, run, { [approvalId]: result });
    } catch (error) {
      // An answer has no id under which an error of JSON-RPC could be reported, and a 404 means a lost session.
      if (error instanceof DomainError && ['invalid_arguments', 'run_not_found'].includes(error.code)) {
        throw new DomainError('invalid_rpc_request', error.detail);
      }
      throw error;
    }
    return true;
  }

  private requestFor(session: Session, asked: Asked, { method, params }: AskedQuestion, meta?: object): SessionRequest {
    const id = this.ids.seal(session, asked);
    if (id === undefined) throw new Error('The ids of runs and approvals have a fixed length.');
    return { jsonrpc: '2.0', id, method, params: { ...params, ...(meta !== undefined && { _meta: meta }) } };
  }
}

/** The other requests in a session are those of upstreams. */
function isAsked(target: object): target is Asked {
  return 'approvalId' in target;
}
