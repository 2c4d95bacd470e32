import type { InboundMessage } from '../../protocol/inbound-message.js';
import { toStoredInitialize } from '../../forwarding/session/initialize-request.js';

/** What a client may declare to answer, as far as it can be asked by way of an agent. */
const ANSWERS = ['sampling', 'elicitation', 'roots'];

/**
 * The `initialize` that is sent to connections of an agent in the name of a client that answers requests, as JSON text;
 * undefined for a client that answers none.
 * @throws DomainError `invalid_rpc_request` if it is too large to be kept
 */
export function ownInitialize(message: InboundMessage): string | undefined {
  const declared = message.params['capabilities'] as Record<string, unknown> | null | undefined;
  const kept = Object.entries(declared ?? {}).filter(([name]) => ANSWERS.includes(name));
  if (kept.length === 0) return undefined;
  return toStoredInitialize({ ...message, params: { ...message.params, capabilities: Object.fromEntries(kept) } });
}
