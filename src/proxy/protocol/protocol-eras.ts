import type { ServerCapabilities } from '@modelcontextprotocol/client';
import { DomainError } from '../../core/domain-error.js';
import { LISTED_KINDS, type ListedKind } from '../../upstreams/contract/list-change.js';
import type { InboundMessage, InboundRequest } from './inbound-message.js';
import { type LogLevel, toLogLevel } from '../../upstreams/contract/log-level.js';

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

/** Requests that concern the session of a client of the legacy era. */
const OF_SESSION: ReadonlySet<string> = new Set(['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']);
const MAX_URI_LENGTH = 2_048;
export const URI_FORM = `URI of at most ${MAX_URI_LENGTH} characters`;

/** True for a request that concerns a session as the legacy era has them. */
export function isOfSession({ method = '' }: Pick<InboundMessage, 'method'>): boolean {
  return OF_SESSION.has(method);
}

/** The level of `logging/setLevel`. @throws DomainError `invalid_arguments` */
export function requiredLevel({ params }: InboundRequest): LogLevel {
  const level = toLogLevel(params['level']);
  if (level === undefined) throw new DomainError('invalid_arguments', '`params.level` must be an MCP log level.');
  return level;
}

/** The resource of `resources/subscribe`. @throws DomainError `invalid_arguments` */
export function requiredUri({ params: { uri } }: InboundRequest): string {
  if (isUri(uri)) return uri;
  throw new DomainError('invalid_arguments', `\`params.uri\` must be a ${URI_FORM}.`);
}

/** True if the resource can be subscribed to by this address. */
export function isUri(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_URI_LENGTH;
}

/** What a client gets whose subscription the upstream does not accept. */
export function refusedSubscription(): DomainError {
  return new DomainError('invalid_arguments', 'The upstream does not accept a subscription to this resource.');
}
