/** What the requests of the fuzzer refer to. */
export type Kind =
  'connection' | 'agent' | 'thread' | 'run' | 'approval' | 'file' | 'key' | 'provider' | 'cursor' | 'event' | 'session';

/** What a test prepares once: it is used by everybody, and nobody changes or deletes it. */
export interface Fixtures {
  readonly organization: string;
  /** The values of keys, by what they are: `all` may do everything. */
  readonly keys: Readonly<Record<string, string>>;
  readonly connections: readonly string[];
  readonly agents: readonly string[];
  /** Addresses of MCP servers and of a provider. */
  readonly addresses: Readonly<Record<string, string>>;
  /** Text that may never be shown: what a request that stores a secret stores. */
  readonly secret: string;
}

const NOBODY = '00000000-0000-7000-8000-000000000000';
const MOST_REMEMBERED = 40;

/** The ids that the requests of one sequence have brought to light, and those of the fixtures. */
export class World {
  readonly #own = new Map<Kind, string[]>();
  readonly #keyValues: string[] = [];
  /** The last session that was opened at a path. */
  readonly #sessions = new Map<string, string>();
  readonly #agents = new Map<string, string>();
  readonly #fixtures: Fixtures;

  constructor(fixtures: Fixtures) {
    this.#fixtures = fixtures;
  }

  own(kind: Kind): readonly string[] {
    return this.#own.get(kind) ?? [];
  }

  add(kind: Kind, id: unknown): void {
    if (typeof id !== 'string') return;
    const known = this.#own.get(kind) ?? [];
    if (known.includes(id) || known.length >= MOST_REMEMBERED) return;
    this.#own.set(kind, [...known, id]);
  }

  /** A key value that an answer held: the only place where one may be seen. */
  addKeyValue(value: string): void {
    this.#keyValues.push(value);
  }

  openSession(path: string, id: string): void {
    this.#sessions.delete(path);
    this.#sessions.set(path, id);
    this.add('session', id);
  }

  /** The path at which a session was opened last. */
  sessionPath(): string {
    const { organization, connections } = this.#fixtures;
    return [...this.#sessions.keys()].at(-1) ?? `/api/${organization}/mcp/${connections[0]}`;
  }

  sessionAt(path: string): string | undefined {
    return this.#sessions.get(path);
  }

  setAgent(thread: string, agent: string): void {
    this.#agents.set(thread, agent);
  }

  /** The agent that a thread belongs to. */
  agentOf(thread: string): string {
    return this.#agents.get(thread) ?? this.#fixtures.agents[0] ?? NOBODY;
  }

  /** The value of a reference, as the requests write it: `connection:3`, `own-agent:0`, `key-value:all`. */
  resolve(name: string, which: string): string {
    const { keys, addresses, secret, connections, agents, organization } = this.#fixtures;
    if (name === 'organization') return organization;
    const index = Number(which);
    if (name === 'key-value') return keys[which] ?? this.#keyValues.at(-1) ?? keys['all'] ?? '';
    if (name === 'address') return addresses[which] ?? '';
    if (name === 'secret') return `${secret}-${which}`;
    const isOwn = name.startsWith('own-');
    const kind = (isOwn ? name.slice('own-'.length) : name) as Kind;
    const shared = isOwn ? [] : kind === 'connection' ? [...connections, ...agents] : kind === 'agent' ? agents : [];
    const known = [...shared, ...this.own(kind)];
    return known[index % known.length] ?? NOBODY;
  }
}
