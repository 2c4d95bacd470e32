import type { ServerDescription } from '../../upstreams/contract/server-description.js';
import type { InboundRequest } from '../protocol/inbound-message.js';
import { translatableCapabilities } from '../protocol/translatable-methods.js';
import { LATEST_LEGACY_VERSION, LEGACY_VERSIONS } from '../protocol/protocol-versions.js';

/** True if this is an `initialize` that an upstream of the legacy era would accept. */
export function isWellFormed({ params }: InboundRequest): boolean {
  const { protocolVersion, capabilities, clientInfo } = params;
  const { name, version } = (clientInfo ?? {}) as { name?: unknown; version?: unknown };
  const isObject = typeof capabilities === 'object' && capabilities !== null;
  return typeof protocolVersion === 'string' && isObject && typeof name === 'string' && typeof version === 'string';
}

/**
 * The answer to an `initialize` (MCP 2025-11-25, "Lifecycle") on behalf of an upstream of the modern era, as JSON text.
 * @param title the name of an upstream that does not name itself
 */
export function translatedInitialize(
  { id, params: { protocolVersion } }: InboundRequest,
  { capabilities, instructions, serverInfo }: ServerDescription,
  title: string,
): string {
  const result = {
    protocolVersion: LEGACY_VERSIONS.has(String(protocolVersion)) ? protocolVersion : LATEST_LEGACY_VERSION,
    capabilities: translatableCapabilities(capabilities),
    serverInfo: serverInfo ?? { name: title, version: '0' },
    ...(instructions !== undefined && { instructions }),
  };
  return `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
}
