import { DomainError } from '../../core/domain-error.js';
import type { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import {
  type InboundMessage,
  isModernMessage,
  LATEST_LEGACY_VERSION,
  LEGACY_VERSIONS,
  MODERN_VERSIONS,
} from '../protocol/inbound-message.js';
import { signInPageOf } from '../protocol/json-rpc-error.js';
import type { ProxyCaller } from '../protocol/proxy-caller.js';
import { NO_SIGN_IN_NEEDED, signInTool } from '../protocol/sign-in-tool.js';
import { toProxyError } from '../protocol/to-proxy-error.js';
import type { McpRequestContext } from './upstream-router.js';
import { ownAnswer, type Sent } from './upstream-sender.js';

/**
 * The answer to a request that describes or lists, at an upstream where a person has to sign in first. Clients show no
 * error of these requests, so they succeed: with one tool that carries the link.
 * @throws the error, if it has another reason or the request is another one
 */
export function standInFor(error: unknown, { message, request, caller }: McpRequestContext): Sent {
  const refusal = toProxyError(error);
  const result = signInPageOf(refusal) === undefined ? undefined : resultOf(message, refusal, caller);
  if (result === undefined || message.kind !== 'request') throw error;
  const complete = isModernMessage(request.headers, message)
    ? { ...result, resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
    : result;
  const text = `{"jsonrpc":"2.0","id":${message.id},"result":${JSON.stringify(complete)}}`;
  // The session that `initialize` opens is the service's, because there is none with the upstream.
  return {
    answer: ownAnswer(text),
    isStandIn: true,
    ...(message.method === 'initialize' && { isTranslated: true as const }),
  };
}

/**
 * The error for a call of the stand-in, which is no tool of the upstream. Any grant on the connection permits it.
 * @param refusal of a tool with its name
 */
export async function standInRefusal(
  refusal: DomainError,
  { connection, holdsAny }: ProxyCaller,
  catalog: ToolCatalog,
): Promise<DomainError> {
  if (connection.oauth === null) return refusal;
  if (refusal.code === 'unknown_tool') return new DomainError('unknown_tool', NO_SIGN_IN_NEEDED);
  if (refusal.code !== 'permission_denied' || !holdsAny) return refusal;
  const hindrance = await catalog.recheck(connection).then(() => undefined, toProxyError);
  return hindrance !== undefined && signInPageOf(hindrance) !== undefined ? hindrance : refusal;
}

function resultOf(
  { method, params }: InboundMessage,
  { message }: DomainError,
  caller: ProxyCaller,
): object | undefined {
  // Without a grant, the caller would not be permitted to call any tool.
  const hindrance = caller.holdsAny ? message : undefined;
  const description = { capabilities: { tools: {} }, ...(hindrance !== undefined && { instructions: hindrance }) };
  switch (method) {
    case 'initialize': {
      const requested = params['protocolVersion'];
      const protocolVersion = LEGACY_VERSIONS.has(String(requested)) ? requested : LATEST_LEGACY_VERSION;
      return { protocolVersion, ...description, serverInfo: { name: caller.connection.title, version: '0' } };
    }
    case 'server/discover':
      return { supportedVersions: MODERN_VERSIONS, ...description };
    case 'ping':
      return {};
    case 'tools/list':
      return { tools: hindrance === undefined ? [] : [signInTool(hindrance)] };
    case 'prompts/list':
      return { prompts: [] };
    case 'resources/list':
      return { resources: [] };
    case 'resources/templates/list':
      return { resourceTemplates: [] };
    default:
      return undefined;
  }
}
