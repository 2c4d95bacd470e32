import type { ToolOutput } from '../../../../packages/client/src/api.js';

export type Graph = ToolOutput<'ACCESS_GRAPH'>;
export type ApprovalRule = Graph['uses'][number]['approval'];

/** What stands in the picture. `public`: callers without a credential. */
export type Kind = 'key' | 'person' | 'public' | 'agent' | 'connection';

export interface MapNode {
  /** Kind and id, as the address has them (`key:<id>`). */
  readonly ref: string;
  readonly kind: Kind;
  readonly id: string;
  readonly title: string;
  /** Of an agent or a connection; an expired key is inactive. */
  readonly status: 'active' | 'inactive' | 'error';
  /** How many tools a connection last listed. */
  readonly tools: number | null;
}

/** Calls and approvals in the range of time. */
export interface Traffic {
  readonly calls: number;
  readonly errors: number;
  readonly denied: number;
  readonly asked: number;
  readonly given: number;
}

/** How one node reaches another: by calling it at its endpoint, by running it, or by being made of it. */
export type Verb = 'calls' | 'runs' | 'uses';

export interface Way {
  readonly from: MapNode;
  readonly to: MapNode;
  readonly verbs: readonly Verb[];
  /** Of an agent's use. */
  readonly approval: ApprovalRule;
  /** Tools that an agent selects; null: all. */
  readonly selected: number | null;
  readonly traffic: Traffic;
}

const NO_TRAFFIC: Traffic = { calls: 0, errors: 0, denied: 0, asked: 0, given: 0 };
const PUBLIC: MapNode = {
  ref: 'public:all',
  kind: 'public',
  id: 'all',
  title: 'Without a credential',
  status: 'active',
  tools: null,
};

/** Tell whether callers reach the agent or connection with an id. */
interface Reach {
  readonly calls: (id: string) => boolean;
  readonly runs: (id: string) => boolean;
}

/** The organization as nodes, and the ways between them, which are made for the nodes that somebody looks at. */
export class AccessMap {
  readonly nodes: readonly MapNode[];
  private readonly byRef: ReadonlyMap<string, MapNode>;
  /** Agents and connections, by id. */
  private readonly byId: ReadonlyMap<string, MapNode>;
  private readonly traffic = new Map<string, Traffic>();
  private readonly callersById: ReadonlyMap<string, Graph['callers'][number]>;
  /** What callers reach, by the index that they have. */
  private readonly reaches: readonly Reach[];

  constructor(private readonly graph: Graph) {
    const callers = graph.callers.map(({ type, id, name, active }): MapNode => ({
      ref: `${type}:${id}`,
      kind: type,
      id,
      title: name,
      status: active ? 'active' : 'inactive',
      tools: null,
    }));
    const targets = graph.nodes.map(({ id, title, connection_type: type, status, tools }): MapNode => {
      const kind = type === 'VIRTUAL' ? 'agent' : 'connection';
      return { ref: `${kind}:${id}`, kind, id, title, status, tools };
    });
    this.nodes = [...callers, ...targets];
    this.byRef = new Map([...this.nodes, PUBLIC].map((node) => [node.ref, node]));
    this.byId = new Map(targets.map((node) => [node.id, node]));
    this.callersById = new Map(graph.callers.map((caller) => [caller.id, caller]));
    this.reaches = graph.reaches.map(({ calls, runs }) => ({ calls: testOf(calls), runs: testOf(runs) }));
    for (const row of graph.traffic) this.count(row);
  }

  find(ref: string | undefined): MapNode | undefined {
    return ref === undefined ? undefined : this.byRef.get(ref);
  }

  /** The agent or connection with this id. */
  target(id: string): MapNode | undefined {
    return this.byId.get(id);
  }

  /** All calls from or to the node. */
  trafficOf({ ref }: MapNode): Traffic {
    return this.traffic.get(ref) ?? NO_TRAFFIC;
  }

  /** The ways that end at the node, those with most calls first. */
  waysTo(to: MapNode): Way[] {
    if (to.kind !== 'agent' && to.kind !== 'connection') return [];
    const callers = this.graph.callers.flatMap((caller) => this.wayFrom(caller, to) ?? []);
    const agents = this.graph.uses.filter(({ connection_id: id }) => id === to.id).flatMap((use) => this.useOf(use));
    return byTraffic([...callers, ...this.publicWays(to), ...agents]);
  }

  /** The ways that begin at the node. */
  waysFrom(from: MapNode): Way[] {
    if (from.kind === 'agent') {
      return byTraffic(this.graph.uses.filter(({ agent_id: id }) => id === from.id).flatMap((use) => this.useOf(use)));
    }
    if (from.kind === 'public') return byTraffic([...this.byId.values()].flatMap((to) => this.publicWays(to)));
    const caller = this.callersById.get(from.id);
    if (caller === undefined) return [];
    return byTraffic([...this.byId.values()].flatMap((to) => this.wayFrom(caller, to) ?? []));
  }

  /** The ways on which calls went, those with most calls first. */
  busiestWays(): Way[] {
    const refs = [...this.traffic.keys()].filter((key) => key.includes(' ')).map((key) => key.split(' '));
    const ways = refs.flatMap(([fromRef, toRef]) => {
      const [from, to] = [this.find(fromRef), this.find(toRef)];
      if (from === undefined || to === undefined) return [];
      if (from.kind === 'agent') {
        const use = this.graph.uses.find((one) => one.agent_id === from.id && one.connection_id === to.id);
        return use === undefined ? [] : this.useOf(use);
      }
      if (from.kind === 'public') return this.publicWays(to);
      const caller = this.callersById.get(from.id);
      return caller === undefined ? [] : [this.wayFrom(caller, to) ?? this.wayOf(from, to, [])];
    });
    return byTraffic(ways);
  }

  private wayFrom(caller: Graph['callers'][number], to: MapNode): Way | undefined {
    const from = this.byRef.get(`${caller.type}:${caller.id}`);
    const reach = this.reaches[caller.reach];
    const verbs: Verb[] = [];
    if (reach?.calls(to.id)) verbs.push('calls');
    if (to.kind === 'agent' && reach?.runs(to.id)) verbs.push('runs');
    return from === undefined || verbs.length === 0 ? undefined : this.wayOf(from, to, verbs);
  }

  /** Calls without a credential show only where they were made: which tools are public is up to the upstream. */
  private publicWays(to: MapNode): Way[] {
    return this.traffic.has(`${PUBLIC.ref} ${to.ref}`) ? [this.wayOf(PUBLIC, to, ['calls'])] : [];
  }

  private useOf({ agent_id: agentId, connection_id: id, approval, tools }: Graph['uses'][number]): Way[] {
    const [from, to] = [this.byId.get(agentId), this.byId.get(id)];
    if (from === undefined || to === undefined) return [];
    return [{ ...this.wayOf(from, to, ['uses']), approval, selected: tools }];
  }

  private wayOf(from: MapNode, to: MapNode, verbs: readonly Verb[]): Way {
    const traffic = this.traffic.get(`${from.ref} ${to.ref}`) ?? NO_TRAFFIC;
    return { from, to, verbs, approval: 'none', selected: null, traffic };
  }

  private count(row: Graph['traffic'][number]): void {
    const { api_key_id: key, user_id: user, agent_id: agent, connection_id: connection } = row;
    const from = key === null ? (user === null ? PUBLIC.ref : `person:${user}`) : `key:${key}`;
    const to = `connection:${connection}`;
    const added: Traffic = {
      calls: row.calls,
      errors: row.errors,
      denied: row.denied,
      asked: row.approvals_requested,
      given: row.approvals_given,
    };
    const stops = agent === null ? [from, to] : [from, `agent:${agent}`, to];
    for (const [index, stop] of stops.entries()) {
      this.add(stop, added);
      const next = stops[index + 1];
      if (next !== undefined) this.add(`${stop} ${next}`, added);
    }
  }

  private add(key: string, added: Traffic): void {
    const known = this.traffic.get(key) ?? NO_TRAFFIC;
    this.traffic.set(key, {
      calls: known.calls + added.calls,
      errors: known.errors + added.errors,
      denied: known.denied + added.denied,
      asked: known.asked + added.asked,
      given: known.given + added.given,
    });
  }
}

function testOf({ all, ids }: Graph['reaches'][number]['calls']): (id: string) => boolean {
  const reached = new Set(ids);
  return (id) => all || reached.has(id);
}

function byTraffic(ways: readonly Way[]): Way[] {
  return ways.toSorted(
    (a, b) =>
      b.traffic.calls - a.traffic.calls ||
      a.from.title.localeCompare(b.from.title) ||
      a.to.title.localeCompare(b.to.title),
  );
}
