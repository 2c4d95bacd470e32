import {
  type Composition,
  OFFER_KINDS,
  type OfferKind,
  type Source,
  type ToolPlace,
} from '../../../agents/composition/composition.js';
import { allows, allowsAny } from '../../../common/permissions.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';

/** May the caller call the tool, by the agent's id or by the connection's? Public tools need no grant. Pure, as all here. */
export function mayCall({ principal }: ProxyCaller, { grants }: ToolPlace): boolean {
  return principal !== undefined && grants.some(({ resource, tool }) => allows(principal.permissions, resource, tool));
}

/** May anyone call the tool by way of this agent? */
export function isOpen({ connection: agent }: ProxyCaller, place: ToolPlace): boolean {
  return agent.publicTools === 'honor' && place.isPublic;
}

/** Does the tool belong on a list for this caller? */
export function sees(caller: ProxyCaller, place: ToolPlace): boolean {
  return isOpen(caller, place) || mayCall(caller, place);
}

/** May the caller have these of the connection? */
export function mayUse({ principal }: ProxyCaller, { kinds, grantors }: Source, kind: OfferKind): boolean {
  if (principal === undefined || !kinds.has(kind)) return false;
  return grantors.some((resource) => allows(principal.permissions, resource, kind));
}

/** Does the caller hold a grant of any kind on the agent or a connection of it? */
export function holdsAny({ principal, connection: agent }: ProxyCaller, sources: readonly Source[]): boolean {
  if (principal === undefined) return false;
  const granting = [agent.id, ...sources.flatMap(({ grantors }) => grantors)];
  return granting.some((resource) => allowsAny(principal.permissions, resource));
}

/** May the caller use anything of the connection by way of the agent? */
export function mayUseAny(caller: ProxyCaller, { sources, places }: Composition, connectionId: string): boolean {
  const source = sources.find(({ connection }) => connection.id === connectionId);
  if (source !== undefined && OFFER_KINDS.some((kind) => mayUse(caller, source, kind))) return true;
  return [...places.values()].some((place) => place.connection.id === connectionId && sees(caller, place));
}
