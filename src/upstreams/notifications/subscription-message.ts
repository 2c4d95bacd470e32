import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/client';
import type { OutgoingMessage } from '../messages/upstream-channel.js';
import { CLIENT_INFO, type McpSession } from '../session/mcp-session.js';

const LISTEN = 'subscriptions/listen';

/** The headers of a subscription over HTTP. */
export const LISTEN_HEADERS = { 'mcp-method': LISTEN };

/**
 * The request for a subscription (MCP 2026-07-28). The modern era has no sessions, so the request describes the client.
 * @param notifications the filter
 */
export function subscriptionMessage(
  { protocolVersion }: Pick<McpSession, 'protocolVersion'>,
  notifications: object,
  id = LISTEN,
): OutgoingMessage {
  const _meta = {
    [PROTOCOL_VERSION_META_KEY]: protocolVersion,
    [CLIENT_INFO_META_KEY]: CLIENT_INFO,
    [CLIENT_CAPABILITIES_META_KEY]: {},
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id, method: LISTEN, params: { _meta, notifications } });
  return { body: Buffer.from(body), method: LISTEN, id: JSON.stringify(id) };
}
