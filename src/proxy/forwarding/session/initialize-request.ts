import { DomainError } from '../../../core/domain-error.js';
import type { OutgoingMessage } from '../../../upstreams/messages/upstream-channel.js';
import type { InboundMessage } from '../../protocol/inbound-message.js';

/** A session id is sent in a header, so its content must stay small. */
const MAX_STORED_LENGTH = 2 * 1024;
const ID = '"signalbox-initialize"';

/**
 * True if the client declared capabilities (sampling, elicitation, roots). An upstream may list other tools to such a
 * client.
 */
export function declaresCapabilities({ params }: InboundMessage): boolean {
  const { capabilities } = params;
  return typeof capabilities === 'object' && capabilities !== null && Object.keys(capabilities).length > 0;
}

/**
 * The part of an `initialize` request that is stored to repeat it to a new process of the same program, as JSON text.
 * @throws DomainError `invalid_rpc_request` if it is too large to store
 */
export function toStoredInitialize({ params }: InboundMessage): string {
  const { protocolVersion, capabilities, clientInfo } = params;
  const { name, version } = (clientInfo ?? {}) as { name?: unknown; version?: unknown };
  const text = JSON.stringify({ protocolVersion, capabilities, clientInfo: { name, version } });
  if (text.length > MAX_STORED_LENGTH) {
    throw new DomainError(
      'invalid_rpc_request',
      'The params of `initialize` are too large for a session with a STDIO connection.',
    );
  }
  return text;
}

/** The request that repeats a stored `initialize`. */
export function storedInitialize(text: string): OutgoingMessage {
  const body = Buffer.from(`{"jsonrpc":"2.0","id":${ID},"method":"initialize","params":${text}}`);
  return { body, method: 'initialize', id: ID };
}
