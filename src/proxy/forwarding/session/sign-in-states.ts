import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { databaseNow } from '../../../core/database-time.js';
import { DomainError } from '../../../core/domain-error.js';
import { newId } from '../../../core/ids.js';
import { isRecord } from '../../../core/is-record.js';
import { VaultService } from '../../../platform/vault/vault.service.js';
import type { InboundMessage } from '../../protocol/inbound-message.js';
import { withoutInputResponses } from '../../protocol/input-responses.js';
import { SIGN_IN } from '../../protocol/sign-in-tool.js';
import { UsedSignIns } from './used-sign-ins.repository.js';

/** Tells the states of this service from those of upstreams, which are forwarded. */
const PREFIX = 'sign-in:';
const MAX_AGE_MS = 10 * 60_000;
/** The service does not issue longer states. */
const MAX_LENGTH = 4_096;

/** What a state holds. */
interface State {
  readonly id: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
  readonly digest: string;
}

/**
 * The `requestState` of requests that wait until a person has signed in at the upstream (MCP 2026-07-28). A client can
 * change it, so it is sealed, and valid only once, within ten minutes, for the same request of the same caller to the
 * same connection.
 */
@Injectable()
export class SignInStates {
  constructor(
    private readonly vault: VaultService,
    private readonly used: UsedSignIns,
  ) {}

  seal(request: FastifyRequest, message: InboundMessage): string {
    const state: State = { id: newId(), at: databaseNow(), digest: digestOf(message) };
    return `${PREFIX}${this.vault.seal(JSON.stringify(state), contextOf(request))}`;
  }

  /**
   * Returns the request that is repeated after a sign-in as it was sent at first; any other message unchanged.
   * @throws DomainError `invalid_rpc_request` for a state that is not valid, `upstream_authorization_required` if the
   *   person refused
   */
  async resume<M extends InboundMessage>(request: FastifyRequest, message: M): Promise<M> {
    const { requestState: state } = message.params;
    if (message.kind !== 'request' || typeof state !== 'string' || !state.startsWith(PREFIX)) return message;
    const opened = this.open(state, request, message);
    if (opened === undefined || !(await this.used.use(opened.id, MAX_AGE_MS))) {
      throw new DomainError(
        'invalid_rpc_request',
        '`params.requestState` is not valid for this request, was used before, or has ended.',
      );
    }
    const { inputResponses } = message.params;
    const answer = isRecord(inputResponses) ? inputResponses[SIGN_IN] : undefined;
    if (isRecord(answer) && answer['action'] !== 'accept') {
      throw new DomainError('upstream_authorization_required', 'The person did not open the page to sign in.');
    }
    return withoutInputResponses(message) as M;
  }

  /** Undefined if the state is not valid for this request. */
  private open(state: string, request: FastifyRequest, message: InboundMessage): State | undefined {
    if (state.length > MAX_LENGTH) return undefined;
    try {
      // The envelope is authentic, so it holds what `seal` wrote.
      const opened = JSON.parse(this.vault.open(state.slice(PREFIX.length), contextOf(request))) as State;
      const isValid = databaseNow() - opened.at <= MAX_AGE_MS && opened.digest === digestOf(message);
      return isValid ? opened : undefined;
    } catch {
      return undefined;
    }
  }
}

function contextOf({ params, principal }: FastifyRequest): string {
  const { connectionId, virtualMcpId = connectionId } = params as { connectionId?: string; virtualMcpId?: string };
  return `mcp-sign-in:${virtualMcpId}:${principal?.callerId ?? 'anonymous'}`;
}

function digestOf({ method, params: { name, uri, arguments: args } }: InboundMessage): string {
  return hash('sha256', JSON.stringify([method, name, uri, args]));
}
