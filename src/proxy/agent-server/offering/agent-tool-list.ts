import {
  type Composition,
  isListed,
  isWaiting,
  type ListedPlace,
  type UnavailableMember,
  isForModels,
} from '../../../agents/composition/composition.js';
import { CALL_FOR_CLIENTS, SEARCH_FOR_CLIENTS } from '../../../agents/search/search-tools.js';
import { appliedMode } from '../../../agents/search/tool-mode.js';
import { DomainError } from '../../../core/domain-error.js';
import { isRecord } from '../../../core/is-record.js';
import { withMember } from '../../../core/json/json-member.js';
import { allowsAny, allowsNothing } from '../../../core/permissions.js';
import { TimeSlices } from '../../../core/time-slices.js';
import { type KnownTool, METADATA_KEY } from '../../../upstreams/catalog/tool-list.js';
import { GATHERED_BYTES } from '../../../upstreams/messages/answer-body.js';
import { isTaskOnly } from '../../../upstreams/contract/tool-task.js';
import type { UpstreamTool } from '../../../upstreams/contract/upstream.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { signInTool } from '../../protocol/sign-in-tool.js';
import { askDefinition, mayAsk } from '../ask/ask-definition.js';
import { sees } from './agent-permissions.js';

/** The JSON text of a tool's definition without its name, cached as long as the upstream's list. */
const texts = new WeakMap<KnownTool, string>();

/** The tools of the service itself that find and call those that are not listed. */
const SEARCH_TEXTS = [SEARCH_FOR_CLIENTS, CALL_FOR_CLIENTS].map((tool) => JSON.stringify(tool));

/** What the client has declared. */
export interface ToolListOptions {
  /** It wants all tools, whatever the mode (`wantsAllTools`). */
  readonly isWhole: boolean;
  /** It supports MCP Apps: it gets the tools that are not for models too. */
  readonly hasApps: boolean;
}

/** The result of `tools/list` in pieces of JSON text. Memory for one text of a long list would take tens of ms. */
export interface ToolListTexts {
  /** Together the elements of `tools`, with their commas. */
  readonly tools: readonly string[];
  /** The other members of the result, each after a comma. */
  readonly others: string;
}

/**
 * The result of `tools/list`. Except for the name, the definitions are what the upstreams sent. In search mode it has
 * the search, the pinned tools, and those that are not for models, which no search finds.
 */
export async function toolListTexts(
  caller: ProxyCaller,
  composition: Composition,
  { isWhole, hasApps }: ToolListOptions,
): Promise<ToolListTexts> {
  const slices = new TimeSlices(caller.connection.organizationId);
  const visible: ListedPlace[] = [];
  const forModels: ListedPlace[] = [];
  const places = mayHoldAny(caller, composition) ? composition.places.values() : [];
  for (const place of places) {
    if (isListed(place) && sees(caller, place)) {
      if (isForModels(place)) forModels.push(place);
      if (hasApps || isForModels(place)) visible.push(place);
    }
    if (slices.isOver) await slices.next();
  }
  const isSearched =
    !isWhole && forModels.length > 0 && (await appliedMode(composition, forModels, slices)) === 'search';
  const tools = new ElementTexts();
  if (isSearched) SEARCH_TEXTS.forEach((text) => tools.add(text));
  const { ask } = composition;
  const isTool = ask !== undefined && mayAsk(caller);
  if (isTool) tools.add(askDefinition(caller, ask));
  for (const place of isSearched ? unsearched(composition, visible) : visible) {
    tools.add(isTool ? withoutTasks(textOf(place), place) : textOf(place));
    if (slices.isOver) await slices.next();
  }
  const hindrance = hindranceFor(caller, composition.unavailable);
  if (tools.isEmpty && hindrance !== undefined) tools.add(JSON.stringify(signInTool(hindrance.message)));
  const meta = unavailableMeta(caller, composition.unavailable);
  return { tools: tools.pieces(), others: meta === undefined ? '' : `,"_meta":${JSON.stringify(meta)}` };
}

/** The elements of an array as JSON texts, joined to pieces. */
class ElementTexts {
  private readonly full: string[] = [];
  private last = '';
  isEmpty = true;

  add(text: string): void {
    this.last += this.isEmpty ? text : `,${text}`;
    this.isEmpty = false;
    if (this.last.length < GATHERED_BYTES) return;
    this.full.push(this.last);
    this.last = '';
  }

  pieces(): readonly string[] {
    return this.last === '' ? this.full : [...this.full, this.last];
  }
}

/** True if the client declares with `tools/list` that it wants all tools of the agent. */
export function wantsAllTools({ _meta: meta }: Readonly<Record<string, unknown>>): boolean {
  const declared = isRecord(meta) ? meta[METADATA_KEY] : undefined;
  return isRecord(declared) && declared['tool_mode'] === 'all';
}

function unsearched({ pinnedTools }: Composition, visible: readonly ListedPlace[]): ListedPlace[] {
  const pinned = new Set(pinnedTools);
  return visible.filter((place) => pinned.has(place.name) || !isForModels(place));
}

/**
 * The `_meta` of a list that lacks unavailable connections; undefined if the caller is not permitted to know of any.
 */
export function unavailableMeta(
  caller: ProxyCaller,
  unavailable: readonly UnavailableMember[],
): Record<string, unknown> | undefined {
  const known = knownTo(caller, unavailable);
  return known.length === 0 ? undefined : { [METADATA_KEY]: { unavailable: known } };
}

/**
 * The error that names the connections that wait for a sign-in; undefined if the caller is not permitted to know of
 * any.
 */
export function hindranceFor(caller: ProxyCaller, unavailable: readonly UnavailableMember[]): DomainError | undefined {
  const [first, ...others] = knownTo(caller, unavailable).filter(isWaiting);
  if (first === undefined) return undefined;
  const sentences = [first, ...others].map(({ reason }) => reason).join(' ');
  return new DomainError('upstream_authorization_required', sentences, [], {
    data: { authorization_url: first.signInPage },
  });
}

function knownTo(
  { principal, connection: agent }: ProxyCaller,
  unavailable: readonly UnavailableMember[],
): readonly UnavailableMember[] {
  if (principal === undefined) return [];
  const { permissions } = principal;
  return unavailable.filter(
    ({ connectionId }) => allowsAny(permissions, agent.id) || allowsAny(permissions, connectionId),
  );
}

/**
 * True if the list can contain a tool for the caller. Without any grant only a public one, which is known without
 * looking at the tools.
 */
function mayHoldAny({ principal }: ProxyCaller, { hasPublic }: Composition): boolean {
  return hasPublic || (principal !== undefined && !allowsNothing(principal.permissions));
}

/** Each agent has its own name for a tool; the rest, which can be long, is the same for all. */
function textOf({ name, tool }: ListedPlace): string {
  let rest = texts.get(tool);
  if (rest === undefined) {
    const { name: _name, ...members } = asOffered(tool.definition);
    rest = JSON.stringify(members).slice(1);
    texts.set(tool, rest);
  }
  return `{"name":${JSON.stringify(name)},${rest}`;
}

/** An agent that is a tool declares tasks, but has none of its upstreams. */
function withoutTasks(text: string, { tool: { definition } }: ListedPlace): string {
  const { execution } = definition;
  if (execution?.taskSupport !== 'optional') return text;
  return withMember(text, 0, 'execution', JSON.stringify({ ...execution, taskSupport: 'forbidden' }));
}

/**
 * The service makes the task of a call itself, and clients refuse to call a tool that needs one from a server without
 * tasks.
 */
function asOffered(tool: UpstreamTool): UpstreamTool {
  return isTaskOnly(tool) ? { ...tool, execution: { ...tool.execution, taskSupport: 'forbidden' } } : tool;
}
