import { Injectable } from '@nestjs/common';
import { DomainError } from '../../../core/domain-error.js';
import { parseRecord } from '../../../core/json/parse-record.js';
import { VaultService } from '../../../platform/vault/vault.service.js';
import { RunResultService } from '../../../runtime/turns/run-result.service.js';
import type { Session } from '../../forwarding/session/sealed-sessions.js';
import { answeredRequests } from '../../protocol/client-requests.js';
import type { InboundMessage } from '../../protocol/inbound-message.js';
import { takesStream } from '../../protocol/inbound-message.js';
import { AskApprovals, type AskedQuestion, mayAnswer } from './ask-approvals.js';
import { type AskExchange, principalOf } from './asked-runs.js';

/** Tells the ids of these requests from those of upstreams. */
const PREFIX = 'ask:';

/** What a question is about. */
interface Asked {
  readonly runId: string;
  readonly approvalId: string;
}

/**
 * Asks clients of the legacy era for approvals, as requests in their sessions. The id of a request is sealed for the
 * session and says what it is about, so any process can take the answer, and none has to remember the question.
 */
@Injectable()
export class SessionQuestions {
  constructor(
    private readonly vault: VaultService,
    private readonly results: RunResultService,
    private readonly approvals: AskApprovals,
  ) {}

  /** True if the client shows forms in this session, and the caller's answers count. */
  canAsk(exchange: AskExchange, session: Session | undefined): session is Session {
    const { principal } = exchange.caller;
    if (session?.initialize === undefined || principal === undefined) return false;
    const params = parseRecord(session.initialize) ?? {};
    const { elicitation } = answeredRequests({ params }) ?? {};
    return elicitation?.form !== undefined && mayAnswer(exchange) && takesStream(exchange.request.headers);
  }

  /** The request that asks the client. */
  requestFor(session: Session, asked: Asked, { method, params }: AskedQuestion, meta: object): object {
    const id = `${PREFIX}${this.vault.seal(JSON.stringify(asked), contextOf(session))}`;
    return { jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } };
  }

  /**
   * Takes the client's answer to such a request; false for any other message. An error leaves the question open.
   * @throws DomainError `invalid_rpc_request`, `permission_denied`
   */
  async takeAnswer(exchange: AskExchange, { kind, body }: InboundMessage, session: Session): Promise<boolean> {
    const { id, result } = (kind === 'answer' && parseRecord(body.toString('utf8'))) || {};
    if (typeof id !== 'string' || !id.startsWith(PREFIX)) return false;
    const { runId, approvalId } = this.open(session, id);
    if (result === undefined) return true;
    try {
      const run = await this.results.findReadable(principalOf(exchange), runId);
      await this.approvals.takeAnswers(exchange, run, { [approvalId]: result });
    } catch (error) {
      // An answer has no id under which an error of JSON-RPC could be reported.
      if (error instanceof DomainError && error.code === 'invalid_arguments') {
        throw new DomainError('invalid_rpc_request', error.detail);
      }
      throw error;
    }
    return true;
  }

  private open(session: Session, id: string): Asked {
    try {
      // The envelope is authentic, so it holds what `requestFor` wrote.
      return JSON.parse(this.vault.open(id.slice(PREFIX.length), contextOf(session))) as Asked;
    } catch {
      throw new DomainError('invalid_rpc_request', 'The session has no request with this id.');
    }
  }
}

/** The key is random, and known only from a session id that is valid for one principal at one agent. */
function contextOf({ key }: Session): string {
  return `mcp-ask-question:${key}`;
}
