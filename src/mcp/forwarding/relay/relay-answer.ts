import { discard } from '../../../upstreams/messages/answer-body.js';
import type { UpstreamAnswer } from '../../../upstreams/messages/upstream-channel.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { relayEvents } from './relay-events.js';
import { relayJson } from './relay-json.js';
import type { RelayedAnswer, RelayPlan } from './relay-plan.js';

/**
 * Relays the upstream's answer to a request.
 * @throws UpstreamError while nothing has been sent yet
 */
export function relayAnswer(answer: UpstreamAnswer, plan: RelayPlan): Promise<RelayedAnswer> {
  if (answer.contentType === 'application/json') return relayJson(answer, plan);
  if (answer.contentType === 'text/event-stream') return relayEvents(answer, plan);
  discard(answer.body);
  throw new UpstreamError('protocol', 'The upstream answered a request with neither JSON nor an event stream.');
}
