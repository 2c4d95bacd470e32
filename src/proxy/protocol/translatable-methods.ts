import type { ServerCapabilities } from '@modelcontextprotocol/client';
import { DomainError } from '../../core/domain-error.js';
import { LISTED_KINDS, type ListedKind } from '../../upstreams/contract/list-change.js';
import type { InboundMessage } from './inbound-message.js';

/** The requests with the same meaning in both protocol eras. */
const TRANSLATABLE: ReadonlySet<string> = new Set([
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
]);

/** The capabilities of these requests. */
const TRANSLATABLE_CAPABILITIES = ['tools', 'resources', 'prompts', 'completions'] as const;

/** @throws DomainError `unknown_method` for a method that cannot be translated between the eras */
export function requireTranslatable({ method = '' }: Pick<InboundMessage, 'method'>): void {
  if (TRANSLATABLE.has(method)) return;
  throw new DomainError(
    'unknown_method',
    'This method is not available in this session, because its requests are sent in a shared upstream session.',
  );
}

/**
 * The capabilities that a client and an upstream of different eras can use, without those of a session
 * (`sessionCapabilities`, `reportedLists`).
 */
export function translatableCapabilities(capabilities: ServerCapabilities): ServerCapabilities {
  const offered = TRANSLATABLE_CAPABILITIES.filter((name) => capabilities[name] !== undefined);
  return Object.fromEntries(offered.map((name) => [name, {}]));
}

/**
 * What a client can use of a session that the service has with an upstream of another era.
 * @param caller whether it is permitted to hear of changes, can subscribe to resources, and can get log messages
 */
export function sessionCapabilities(
  capabilities: ServerCapabilities,
  caller: { readonly canListen: boolean; readonly canSubscribe: boolean; readonly getsLog: boolean },
): Pick<ServerCapabilities, ListedKind | 'logging'> {
  const { canListen, canSubscribe, getsLog } = caller;
  const log = { ...(getsLog && capabilities.logging && { logging: {} }) };
  if (!canListen) return log;
  const lists = reportedLists(capabilities);
  const hasSubscriptions = canSubscribe && capabilities.resources?.subscribe === true;
  return { ...log, ...lists, ...(hasSubscriptions && { resources: { ...lists.resources, subscribe: true } }) };
}

/** The lists of an upstream, and whether it reports their changes. */
function reportedLists(capabilities: ServerCapabilities): Pick<ServerCapabilities, ListedKind> {
  const offered = LISTED_KINDS.filter((kind) => capabilities[kind] !== undefined);
  return Object.fromEntries(
    offered.map((kind) => [kind, capabilities[kind]?.listChanged === true ? { listChanged: true } : {}]),
  );
}
