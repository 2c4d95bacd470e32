import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { databaseNow } from '../../../core/database-time.js';
import { DomainError } from '../../../core/domain-error.js';
import { newId } from '../../../core/ids.js';
import { VaultService } from '../../../platform/vault/vault.service.js';
import type { InboundMessage } from '../../protocol/inbound-message.js';
import { isRecord } from '../../../core/is-record.js';
import { withoutInputResponses } from '../../protocol/client-capabilities.js';
import { SIGN_IN } from '../../protocol/sign-in-tool.js';
import { UsedSignIns } from './used-sign-ins.repository.js';

/** How long a state is valid, in milliseconds. */
export const STATE_AGE_MS = 10 * 60_000;
/** The service does not issue longer states. */
const MAX_LENGTH = 4_096;

/** What a state holds. */
interface State {
  readonly id: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
  readonly digest: string;
  /** The process that holds what the state stands for; absent if no process does. */
  readonly process?: string | undefined;
  /** The run that the state stands for; absent if it is no run. */
  readonly runId?: string | undefined;
}

/** The request that a client is asked to repeat with a state. */
interface RepeatedRequest {
  readonly request: FastifyRequest;
  readonly message: InboundMessage;
  /** What the state is for, where the address of the request does not say it. */
  readonly target?: string;
}

/**
 * The `requestState` of results that ask for input (MCP 2026-07-28, "Multi Round-Trip Requests"). A client can change
 * it, so it is sealed, and valid for ten minutes, for the same request of the same caller to the same connection or
 * agent. It can be opened again: whoever opens it decides what a second use does.
 */
@Injectable()
export class RequestStates {
  constructor(private readonly vault: VaultService) {}

  /** @param kind its prefix tells the states of this service from those of upstreams, which are forwarded */
  seal(
    kind: string,
    asked: RepeatedRequest,
    more: Pick<State, 'process' | 'runId'> = {},
  ): { id: string; state: string } {
    const state: State = { id: newId(), at: databaseNow(), digest: digestOf(asked), ...more };
    const sealed = this.vault.seal(JSON.stringify(state), contextOf(kind, asked.request));
    return { id: state.id, state: `${kind}:${sealed}` };
  }

  /** Returns what the state holds. @throws DomainError `invalid_rpc_request` if it is not valid for this request */
  open(kind: string, asked: RepeatedRequest): State {
    const state = String(asked.message.params['requestState']);
    if (state.length > MAX_LENGTH) throw invalidState();
    let opened: State;
    try {
      // The envelope is authentic, so it holds what `seal` wrote.
      opened = JSON.parse(this.vault.open(state.slice(kind.length + 1), contextOf(kind, asked.request))) as State;
    } catch {
      throw invalidState();
    }
    const isValid = databaseNow() - opened.at <= STATE_AGE_MS && opened.digest === digestOf(asked);
    if (!isValid) throw invalidState();
    return opened;
  }
}

/** True if the message repeats a request with a state of this kind. */
export function hasState(kind: string, { params: { requestState } }: InboundMessage): boolean {
  return typeof requestState === 'string' && requestState.startsWith(`${kind}:`);
}

export function invalidState(): DomainError {
  return new DomainError(
    'invalid_rpc_request',
    '`params.requestState` is not valid for this request, was used before, or has ended.',
  );
}

function contextOf(kind: string, { params, principal }: FastifyRequest): string {
  const { connectionId, virtualMcpId = connectionId } = params as { connectionId?: string; virtualMcpId?: string };
  return `mcp-${kind}:${virtualMcpId}:${principal?.callerId ?? 'anonymous'}`;
}

function digestOf({ message: { method, params }, target }: RepeatedRequest): string {
  const { name, uri, arguments: args } = params;
  return hash('sha256', JSON.stringify([method, name, uri, args, target]));
}

const KIND = 'sign-in';

/** The states of requests that wait until a person has signed in at the upstream. Each can be used once. */
@Injectable()
export class SignInStates {
  constructor(
    private readonly states: RequestStates,
    private readonly used: UsedSignIns,
  ) {}

  seal(request: FastifyRequest, message: InboundMessage): string {
    return this.states.seal(KIND, { request, message }).state;
  }

  /**
   * Returns the request that is repeated after a sign-in as it was sent at first; any other message unchanged.
   * @throws DomainError `invalid_rpc_request` for a state that is not valid, `upstream_authorization_required` if the
   *   person refused
   */
  async resume<M extends InboundMessage>(request: FastifyRequest, message: M): Promise<M> {
    if (message.kind !== 'request' || !hasState(KIND, message)) return message;
    const { id } = this.states.open(KIND, { request, message });
    if (!(await this.used.use(id, STATE_AGE_MS))) throw invalidState();
    const { inputResponses } = message.params;
    const answer = isRecord(inputResponses) ? inputResponses[SIGN_IN] : undefined;
    if (isRecord(answer) && answer['action'] !== 'accept') {
      throw new DomainError('upstream_authorization_required', 'The person did not open the page to sign in.');
    }
    return withoutInputResponses(message) as M;
  }
}
