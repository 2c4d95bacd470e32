import type { ServerCapabilities } from '@modelcontextprotocol/client';
import { DomainError } from '../../../core/domain-error.js';
import { isRecord } from '../../../core/is-record.js';
import {
  type WantedChanges,
  LISTED_KINDS,
  type ListedKind,
  subscriptionTo,
} from '../../../upstreams/contract/list-change.js';
import type { InboundRequest } from '../../protocol/inbound-message.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { isUri, URI_FORM } from '../../protocol/protocol-eras.js';

/**
 * The part of a subscription (MCP 2026-07-28, "Subscriptions") that a legacy upstream has, and that the caller is
 * permitted to hear of.
 * @throws DomainError `invalid_arguments` if the filter does not have the form that MCP requires
 */
export function offeredChanges(
  { params: { notifications } }: InboundRequest,
  capabilities: ServerCapabilities,
  caller: ProxyCaller,
): WantedChanges {
  if (!isRecord(notifications)) throw invalid('`params.notifications` must be an object.');
  const kinds = LISTED_KINDS.filter((kind) => {
    const wanted = notifications[`${kind}ListChanged`] ?? false;
    if (typeof wanted !== 'boolean') throw invalid(`\`params.notifications.${kind}ListChanged\` must be a boolean.`);
    return wanted;
  });
  const uris = wantedResources(notifications);
  const offered = permittedKinds(capabilities, caller).filter((kind) => kinds.includes(kind));
  return { kinds: offered, uris: capabilities.resources?.subscribe === true ? uris : [] };
}

/** The resources that a subscription names, each once. @throws DomainError `invalid_arguments` */
export function wantedResources(notifications: Readonly<Record<string, unknown>>): string[] {
  const uris = notifications['resourceSubscriptions'] ?? [];
  if (Array.isArray(uris) && uris.every(isUri)) return [...new Set(uris)];
  throw invalid(`Each of \`params.notifications.resourceSubscriptions\` must be a ${URI_FORM}.`);
}

/** The lists whose changes the upstream reports, and of which the caller is permitted to hear. */
export function permittedKinds(capabilities: ServerCapabilities, caller: ProxyCaller): ListedKind[] {
  return LISTED_KINDS.filter((kind) => {
    const isPermitted = kind === 'tools' || caller.holdsAll || caller.mayCall(kind);
    return isPermitted && capabilities[kind]?.listChanged === true;
  });
}

/** The filter as the client is told of it. */
export function filterOf({ kinds, uris }: WantedChanges): object {
  return { ...subscriptionTo(kinds), ...(uris.length > 0 && { resourceSubscriptions: uris }) };
}

function invalid(detail: string): DomainError {
  return new DomainError('invalid_arguments', detail);
}
