import {
  type Composition,
  OFFER_KINDS,
  type OfferKind,
  type Source,
  type ToolPlace,
} from '../../../agents/composition/composition.js';
import { allows, allowsAny } from '../../../core/permissions.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';

/** True if a grant on the agent or the connection permits the caller to call the tool. Public tools need no grant. */
export function mayCall({ principal }: ProxyCaller, { grants }: ToolPlace): boolean {
  return principal !== undefined && grants.some(({ resource, tool }) => allows(principal.permissions, resource, tool));
}

/** True if everyone is permitted to call the tool through this agent. */
export function isOpen({ connection: agent }: ProxyCaller, place: ToolPlace): boolean {
  return agent.publicTools === 'honor' && place.isPublic;
}

/** True if the tool is listed for this caller. */
export function sees(caller: ProxyCaller, place: ToolPlace): boolean {
  return isOpen(caller, place) || mayCall(caller, place);
}

/** True if the caller is permitted to use the connection's prompts or resources. */
export function mayUse({ principal }: ProxyCaller, { kinds, grantors }: Source, kind: OfferKind): boolean {
  if (principal === undefined || !kinds.has(kind)) return false;
  return grantors.some((resource) => allows(principal.permissions, resource, kind));
}

/** True if the caller holds any grant on the agent or one of its connections. */
export function holdsAny(caller: ProxyCaller, sources: readonly Source[]): boolean {
  return holdsAnyOf(caller, [caller.connection.id, ...sources.flatMap(({ grantors }) => grantors)]);
}

/** True if the caller holds any grant on one of these agents and connections. */
export function holdsAnyOf({ principal }: Pick<ProxyCaller, 'principal'>, grantors: readonly string[]): boolean {
  return principal !== undefined && grantors.some((resource) => allowsAny(principal.permissions, resource));
}

/** True if the caller is permitted to use anything of the connection through the agent. */
export function mayUseAny(caller: ProxyCaller, { sources, places }: Composition, connectionId: string): boolean {
  const source = sources.find(({ connection }) => connection.id === connectionId);
  if (source !== undefined && OFFER_KINDS.some((kind) => mayUse(caller, source, kind))) return true;
  return [...places.values()].some((place) => place.connection.id === connectionId && sees(caller, place));
}
