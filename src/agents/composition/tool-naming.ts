import { createHash } from 'node:crypto';
import type { TimeSlices } from '../../core/time-slices.js';
import { titleSlug } from '../records/agent-slug.js';

export const SEARCH_TOOLS = 'search_tools';
export const CALL_TOOL = 'call_tool';
/** Tools of the service, whose names no upstream's tool has in an agent that offers a search. */
export const SEARCH_TOOL_NAMES: readonly string[] = [SEARCH_TOOLS, CALL_TOOL];

const ASK = 'ask';
const NUMBERED_ASK = /^ask(?:_agent(?:_\d{1,5})?)?$/;

/** The name of the tool that runs an agent: the first that no other tool of the agent has. */
export function askName(others: { has(name: string): boolean }): string {
  let name = ASK;
  for (let count = 1; others.has(name); count++) name = `${ASK}_agent${count === 1 ? '' : `_${count}`}`;
  return name;
}

/** True if the tool that runs an agent can have this name. */
export function isAskName(name: unknown): name is string {
  return typeof name === 'string' && NUMBERED_ASK.test(name);
}

/** Tool names that the models of all providers accept: `[A-Za-z0-9_-]`, at most 64 characters. */
export const MAX_NAME_LENGTH = 64;
const MAX_PREFIX_LENGTH = 32;
const DIGEST_LENGTH = 8;
/** Longer, in UTF-16 code units, than any text that yields a name of allowed length. */
const LONG_LENGTH = 4 * MAX_NAME_LENGTH;

/** A connection of an agent, with all of the agent's known tools from it. */
export interface NamedConnection {
  readonly connectionId: string;
  /** `[a-z0-9_-]`, at most 32 characters. */
  readonly prefix: string;
  /** The upstream's own names, without duplicates, and names that the agent gives. */
  readonly tools: readonly string[];
  /** The names among them that the agent gives. */
  readonly chosen?: ReadonlySet<string>;
}

/** Composed names by connection id and upstream name. */
type ToolNames = ReadonlyMap<string, ReadonlyMap<string, string>>;

interface Tool {
  readonly connectionId: string;
  readonly prefix: string;
  readonly upstreamName: string;
  readonly isChosen: boolean;
}

/**
 * Names the tools of an agent. A name that the agent gives to one tool goes to that tool. Any other tool keeps its own
 * name if it is unique in the agent; tools that share a name are called `<prefix>_<tool>`. If that name is taken too
 * (equal prefixes, or a tool of exactly that name), a digest of connection and tool is added. Names are unique and do
 * not depend on the order of connections and tools.
 */
export function composeToolNames(connections: readonly NamedConnection[]): ToolNames {
  const steps = naming(connections, []);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/**
 * The same for many tools; yields to other work.
 * @param reserved names that no tool gets, not even as its own
 */
export async function composeToolNamesInSlices(
  connections: readonly NamedConnection[],
  slices: TimeSlices,
  reserved: readonly string[],
): Promise<ToolNames> {
  const steps = naming(connections, reserved);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (slices.isOver) await slices.next();
  }
}

/** Yields after each short piece of the work. */
function* naming(
  connections: readonly NamedConnection[],
  reserved: readonly string[],
): Generator<undefined, ToolNames> {
  const names = new Map<string, Map<string, string>>(connections.map(({ connectionId }) => [connectionId, new Map()]));
  const taken = new Set(reserved);
  const give = (tool: Tool, name: string): void => {
    taken.add(name);
    names.get(tool.connectionId)?.set(tool.upstreamName, name);
  };
  /** Gives each tool the proposed name, unless another tool has or wants it; returns the tools without a name. */
  const propose = function* (tools: readonly Tool[], proposal: (tool: Tool) => string): Generator<undefined, Tool[]> {
    const rivals = new Map<string, Tool[]>();
    for (const tool of tools) {
      const name = proposal(tool);
      const others = rivals.get(name);
      if (others === undefined) rivals.set(name, [tool]);
      else others.push(tool);
      yield;
    }
    const unnamed: Tool[] = [];
    for (const [name, [tool, ...others]] of rivals) {
      if (tool === undefined) continue;
      if (others.length === 0 && !taken.has(name)) give(tool, name);
      else unnamed.push(tool, ...others);
      yield;
    }
    return unnamed;
  };
  // Chosen names come first, so that no upstream can take one by listing a tool of that name.
  const { chosen = [], listed = [] } = Object.groupBy(toolsOf(connections), ({ isChosen }) =>
    isChosen ? 'chosen' : 'listed',
  );
  let unnamed = [...(yield* propose(chosen, ownName)), ...listed];
  for (const proposal of [ownName, prefixedName]) unnamed = yield* propose(unnamed, proposal);
  for (const tool of unnamed.toSorted(byIdentity)) {
    give(tool, digestedName(tool, taken));
    yield;
  }
  return names;
}

/** The prefix of a connection for which the agent sets none: its title as a slug. */
export function prefixFromTitle(title: string): string {
  return titleSlug(title, MAX_PREFIX_LENGTH) || 'connection';
}

function toolsOf(connections: readonly NamedConnection[]): Tool[] {
  return connections.flatMap(({ connectionId, prefix, tools, chosen }) =>
    tools.map((upstreamName) => ({
      connectionId,
      prefix,
      upstreamName,
      isChosen: chosen?.has(upstreamName) === true,
    })),
  );
}

function ownName({ upstreamName }: Tool): string {
  return shortened(upstreamName);
}

function prefixedName({ prefix, upstreamName }: Tool): string {
  return shortened(`${prefix}_${upstreamName}`);
}

/** An upstream can predict our digests and use one as a tool name: the next round then computes another. */
function digestedName(tool: Tool, taken: ReadonlySet<string>): string {
  for (let round = 0; ; round++) {
    const name = withDigest(prefixedName(tool), JSON.stringify([tool.connectionId, tool.upstreamName, round]));
    if (!taken.has(name)) return name;
  }
}

/**
 * The text reduced to the allowed characters. A text that is too long ends in a digest of the whole, which keeps it
 * unique.
 */
function shortened(text: string): string {
  // The beginning of a long text suffices: the result is too long in any case.
  const isLong = text.length > LONG_LENGTH;
  const name = (isLong ? text.slice(0, LONG_LENGTH) : text).replaceAll(/[^A-Za-z0-9_-]/gu, '_');
  if (name === '') return '_';
  return name.length <= MAX_NAME_LENGTH && !isLong ? name : withDigest(name, text);
}

function withDigest(name: string, identity: string): string {
  const digest = createHash('sha256').update(identity).digest('hex').slice(0, DIGEST_LENGTH);
  return `${name.slice(0, MAX_NAME_LENGTH - DIGEST_LENGTH - 1)}_${digest}`;
}

function byIdentity(a: Tool, b: Tool): number {
  return compare(a.connectionId, b.connectionId) || compare(a.upstreamName, b.upstreamName);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
