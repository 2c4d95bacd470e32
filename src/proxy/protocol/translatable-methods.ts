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
 * What a client of the modern era can use of the session that the service has with an upstream of the legacy one.
 * @param caller whether it is permitted to subscribe, and can get log messages
 */
export function sessionCapabilities(
  capabilities: ServerCapabilities,
  { canListen, getsLog }: { readonly canListen: boolean; readonly getsLog: boolean },
): ServerCapabilities {
  const log = { ...(getsLog && capabilities.logging && { logging: {} }) };
  if (!canListen) return log;
  const lists = reportedLists(capabilities);
  const canSubscribe = capabilities.resources?.subscribe === true;
  return { ...log, ...lists, ...(canSubscribe && { resources: { ...lists.resources, subscribe: true } }) };
}

/** The lists of an upstream, and whether it reports their changes. */
export function reportedLists(capabilities: ServerCapabilities): Pick<ServerCapabilities, ListedKind> {
  const offered = LISTED_KINDS.filter((kind) => capabilities[kind] !== undefined);
  return Object.fromEntries(
    offered.map((kind) => [kind, capabilities[kind]?.listChanged === true ? { listChanged: true } : {}]),
  );
}
