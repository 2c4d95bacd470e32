import { isRecord } from '../../core/is-record.js';
import { clientCapabilitiesOf, type InboundMessage } from './inbound-message.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set when the client of the request declared the extension MCP Apps: it shows no model the tools for apps. */
    hasApps?: true;
  }
}

const APPS = 'io.modelcontextprotocol/ui';

/** True if the message declares that its client supports the extension MCP Apps. */
export function declaresApps(message: Pick<InboundMessage, 'params'>): boolean {
  const capabilities = clientCapabilitiesOf(message);
  const extensions = isRecord(capabilities) ? capabilities['extensions'] : undefined;
  return isRecord(extensions) && isRecord(extensions[APPS]);
}
