import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../../core/domain-error.js';
import { isRecord } from '../../../core/is-record.js';
import type { InboundMessage } from '../../protocol/inbound-message.js';
import { withoutInputResponses } from '../../protocol/client-capabilities.js';
import { SIGN_IN } from '../../protocol/sign-in-tool.js';
import { hasState, invalidState, RequestStates, STATE_AGE_MS } from './request-states.js';
import { UsedSignIns } from './used-sign-ins.repository.js';

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
