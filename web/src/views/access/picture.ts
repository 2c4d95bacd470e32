import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { counted, formatNumber } from '../../ui/format.js';
import type { AccessMap, ApprovalRule, Kind, MapNode, Traffic, Way } from './access-map.js';
import { agentsWithTool } from './agents-with-tool.js';

/** Nodes of one column that are drawn; the table has the others. */
const MAX_IN_COLUMN = 14;

/** A box of the picture. */
export interface Box {
  readonly ref: string;
  readonly kind: Kind | 'tool';
  readonly title: string;
  /** A few words below the title. */
  readonly detail: string;
  readonly state: 'plain' | 'inactive' | 'error' | 'refused';
  readonly isSelected: boolean;
  /** The search of the address that shows it. */
  readonly search: Readonly<Record<string, string | undefined>>;
}

/** A line between two boxes. */
export interface Line {
  readonly from: string;
  readonly to: string;
  readonly calls: number;
  readonly errors: number;
  /** Nobody calls here: the agent is run. */
  readonly isRun: boolean;
  readonly needsApproval: boolean;
  /** Says in words what the line shows. */
  readonly words: string;
}

export interface Column {
  readonly title: string;
  readonly boxes: readonly Box[];
  /** How many are left out. */
  readonly hidden: number;
}

export interface Picture {
  readonly columns: readonly Column[];
  readonly lines: readonly Line[];
}

/** The tools of one connection or agent, for the last column. */
export type Tools = ToolOutput<'ACCESS_TOOLS_LIST'>;
type ToolAccess = ToolOutput<'ACCESS_TO_TOOL'>;

/**
 * The node and what is next to it; without a node, where most calls went.
 * @param open another node that is not left out
 */
export function pictureOf(map: AccessMap, selected: MapNode | undefined, open?: MapNode): Picture {
  const ways = selected === undefined ? map.busiestWays() : waysAround(map, selected);
  const first = [selected, open].filter((node) => node !== undefined);
  const nodes = new Set([...first, ...ways.flatMap(({ from, to }) => [from, to])]);
  const rest = selected === undefined ? map.nodes.filter((node) => !nodes.has(node)) : [];
  return drawn(map, [...nodes, ...rest], ways, selected);
}

/** A caller with all that it reaches, through what; otherwise those on both sides, and who reaches these. */
function waysAround(map: AccessMap, selected: MapNode): Way[] {
  if (selected.kind !== 'agent' && selected.kind !== 'connection') {
    const own = map.waysFrom(selected);
    const agents = own.map(({ to }) => to).filter(({ kind }) => kind === 'agent');
    return [...own, ...agents.slice(0, MAX_IN_COLUMN).flatMap((agent) => map.waysFrom(agent))];
  }
  const into = map.waysTo(selected);
  const agents = into.map(({ from }) => from).filter(({ kind }) => kind === 'agent');
  return [...into, ...map.waysFrom(selected), ...agents.slice(0, MAX_IN_COLUMN).flatMap((agent) => map.waysTo(agent))];
}

/** @param nodes the most important first */
function drawn(map: AccessMap, nodes: readonly MapNode[], ways: readonly Way[], selected?: MapNode): Picture {
  const columnOf = (title: string, kinds: readonly Kind[]): Column => {
    const all = nodes.filter(({ kind }) => kinds.includes(kind));
    const shown = all.slice(0, MAX_IN_COLUMN);
    const boxes = shown.map((node) => boxOf(node, map.trafficOf(node), node === selected));
    return { title, boxes, hidden: all.length - shown.length };
  };
  const columns = [
    columnOf('People and keys', ['key', 'person', 'public']),
    columnOf('Agents', ['agent']),
    columnOf('Connections', ['connection']),
  ];
  return { columns, lines: linesBetween(columns, ways.map(lineOf)) };
}

/** The picture with the tools of a connection or agent in a last column. */
export function withTools(picture: Picture, target: MapNode, tools: Tools, search: Box['search']): Picture {
  const boxes = tools.items.slice(0, MAX_IN_COLUMN).map((tool): Box => ({
    ref: `tool:${tool.name}`,
    kind: 'tool',
    title: tool.name,
    detail: toolDetail(tool),
    state: tool.callable === false ? 'refused' : 'plain',
    isSelected: false,
    search: { ...search, node: target.ref, tool: tool.name, open: undefined },
  }));
  const column = { title: `Tools of ${target.title}`, boxes, hidden: tools.totalCount - boxes.length };
  const lines = tools.items.map((tool): Line => ({
    ...PLAIN,
    from: target.ref,
    to: `tool:${tool.name}`,
    needsApproval: tool.approval === true,
    words: toolDetail(tool),
  }));
  const columns = [...picture.columns, column];
  return { columns, lines: linesBetween(columns, [...picture.lines, ...lines]) };
}

function toolDetail({ callable, approval, public: isPublic }: Tools['items'][number]): string {
  const words = [callable === false && 'not permitted', approval && 'asks first', isPublic && 'public'];
  return words.filter(Boolean).join(', ') || (callable ? 'permitted' : '');
}

/** A tool, and everybody who can have it called. */
export function pictureOfTool(map: AccessMap, access: ToolAccess): Picture {
  const connection = map.target(access.connection_id);
  const callers = access.items.slice(0, MAX_IN_COLUMN).map((item): Box => ({
    ref: `${item.type}:${item.id}`,
    kind: item.type,
    title: item.name,
    detail: waysInWords(item),
    state: 'plain',
    isSelected: false,
    search: { node: `${item.type}:${item.id}` },
  }));
  const having = agentsWithTool(access);
  const agents = having.slice(0, MAX_IN_COLUMN).map((agent): Box => ({
    ref: `agent:${agent.id}`,
    kind: 'agent',
    title: agent.title,
    detail: agent.naming,
    state: agent.status === 'active' ? 'plain' : agent.status,
    isSelected: false,
    search: { node: `agent:${agent.id}` },
  }));
  const tool: Box = {
    ref: 'tool:it',
    kind: 'tool',
    title: access.tool_name,
    detail: access.public ? 'public' : '',
    state: 'plain',
    isSelected: true,
    search: {},
  };
  const own = `connection:${access.connection_id}`;
  const lines = [
    ...access.items.flatMap(({ type, id, direct, agents: called, runs }): Line[] => [
      ...(direct ? [{ ...PLAIN, from: `${type}:${id}`, to: own, words: 'calls it directly' }] : []),
      ...[...new Set([...called, ...runs])].map((agent) => ({
        ...PLAIN,
        from: `${type}:${id}`,
        to: `agent:${agent}`,
        isRun: !called.includes(agent),
        words: called.includes(agent) ? 'calls it at the agent' : 'runs the agent',
      })),
    ]),
    ...having.map(({ id, approval }): Line => ({
      ...PLAIN,
      from: `agent:${id}`,
      to: own,
      needsApproval: approval,
      words: approval ? 'has it; runs ask first' : 'has it',
    })),
    { ...PLAIN, from: own, to: tool.ref, words: 'offers it' },
  ];
  const columns = [
    { title: 'People and keys', boxes: callers, hidden: access.totalCount - callers.length },
    { title: 'Agents', boxes: agents, hidden: having.length - agents.length },
    { title: 'Connections', boxes: connection ? [boxOf(connection, undefined, false)] : [], hidden: 0 },
    { title: 'Tool', boxes: [tool], hidden: 0 },
  ];
  return { columns, lines: linesBetween(columns, lines) };
}

/** Every way to a tool that a caller has, in words. */
export function waysInWords({ direct, agents, runs }: Pick<ToolAccess['items'][number], 'direct' | 'agents' | 'runs'>) {
  const count = (ids: readonly string[]): string => counted(ids.length, 'agent');
  const words = [
    direct && 'directly',
    agents.length > 0 && `at ${count(agents)}`,
    runs.length > 0 && `by running ${count(runs)}`,
  ];
  return words.filter(Boolean).join(', ');
}

const PLAIN = { calls: 0, errors: 0, isRun: false, needsApproval: false };

function linesBetween(columns: readonly Column[], lines: readonly Line[]): Line[] {
  const shown = new Set(columns.flatMap(({ boxes }) => boxes.map(({ ref }) => ref)));
  const unique = new Map(lines.map((line) => [`${line.from} ${line.to}`, line]));
  return [...unique.values()].filter(({ from, to }) => shown.has(from) && shown.has(to));
}

function boxOf(node: MapNode, traffic: Traffic | undefined, isSelected: boolean): Box {
  const tools = node.tools === null ? undefined : counted(node.tools, 'tool');
  const calls = traffic && traffic.calls > 0 ? counted(traffic.calls, 'call') : undefined;
  const errors = traffic && traffic.errors > 0 ? counted(traffic.errors, 'error') : undefined;
  const state = node.status === 'active' ? undefined : stateInWords(node);
  return {
    ref: node.ref,
    kind: node.kind,
    title: node.title,
    detail: [state, tools, calls, errors].filter(Boolean).join(' · '),
    state: node.status === 'active' ? 'plain' : node.status,
    isSelected,
    search: { node: node.ref },
  };
}

function stateInWords({ kind, status }: MapNode): string {
  return kind === 'key' ? 'expired' : status;
}

function lineOf(way: Way): Line {
  const { from, to, verbs, approval, traffic } = way;
  return {
    from: from.ref,
    to: to.ref,
    calls: traffic.calls,
    errors: traffic.errors,
    isRun: verbs.includes('runs') && !verbs.includes('calls'),
    needsApproval: approval !== 'none',
    words: `${from.title} ${verbInWords(way)} ${to.title}. ${trafficInWords(traffic)}`,
  };
}

/** "calls and runs", "uses 3 tools of". */
export function verbInWords({ verbs, selected, approval }: Pick<Way, 'verbs' | 'selected' | 'approval'>): string {
  if (verbs.includes('uses')) {
    const asks = APPROVALS[approval];
    return `uses ${selected === null ? 'all tools' : counted(selected, 'tool')} of${asks && ` (${asks})`}`;
  }
  return verbs.length === 0 ? 'can no longer call' : `can ${verbs.map((verb) => verb.slice(0, -1)).join(' and ')}`;
}

export const APPROVALS: Readonly<Record<ApprovalRule, string>> = {
  none: '',
  destructive: 'asks before destructive calls',
  all: 'asks before every call',
  some: 'asks before some calls',
};

function trafficInWords({ calls, errors, denied, asked, given }: Traffic): string {
  const words = [
    counted(calls, 'call'),
    errors > 0 && counted(errors, 'error'),
    denied > 0 && `${formatNumber(denied)} denied`,
    asked > 0 && `${formatNumber(given)} of ${formatNumber(asked)} approvals given`,
  ];
  return words.filter(Boolean).join(', ');
}
