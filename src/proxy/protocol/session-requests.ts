import { DomainError } from '../../core/domain-error.js';
import { type LogLevel, toLogLevel } from '../../upstreams/contract/log-level.js';
import type { InboundMessage, InboundRequest } from './inbound-message.js';

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
