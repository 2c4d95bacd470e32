import { Injectable, Logger } from '@nestjs/common';
import type { Connection } from '../../connections/connection.js';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import { ListChangeFeed } from './list-change-feed.js';
import { ToolLister } from './tool-lister.js';
import type { UpstreamTool } from '../contract/upstream.js';
import { type ToolList, toToolList } from './tool-list.js';

/** After this time a list that is used is read anew, in the background. */
const FRESH_MS = 60_000;
/** A tool that is not on the list may be new: the list is read anew for it, but not more often than this. */
const RECHECK_MS = 2_000;
/** A list that nobody has asked for during this time is not read when it changes: an upstream cannot keep itself in use. */
const IN_USE_MS = 5 * 60_000;
/** All lists together, in UTF-16 code units of their JSON text. */
const MAX_SIZE = 64 * 1024 * 1024;

interface Entry {
  readonly revision: number;
  list: ToolList | undefined;
  reading: Promise<ToolList> | undefined;
  /** When it was last asked for, in milliseconds since the epoch. */
  usedAt: number;
  /** The upstream has said that the list is another one by now; it will be read. */
  due: NodeJS.Timeout | undefined;
}

/**
 * The tools of every connection in use: for checking arguments, and for knowing the public ones. A list comes from the
 * database or, when it was never listed, from the upstream; then it is kept, and refreshed in the background.
 */
@Injectable()
export class ToolCatalog {
  private readonly logger = new Logger(ToolCatalog.name);
  /** In the order of last reading. */
  private readonly entries = new Map<string, Entry>();
  private readonly listeners: ((connectionId: string) => void)[] = [];
  private size = 0;

  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly lister: ToolLister,
    feed: ListChangeFeed,
  ) {
    feed.onChange((connectionId, kind) => {
      if (kind === 'tools') void this.refreshById(connectionId);
    });
  }

  /** Tells of every connection whose list is new or not what it was. */
  onChange(listener: (connectionId: string) => void): void {
    this.listeners.push(listener);
  }

  /** The connection's tools; a promise only when they have to be waited for. Rejects as `ToolLister.list` does. */
  of(connection: Connection): ToolList | Promise<ToolList> {
    const entry = this.entryOf(connection);
    entry.usedAt = Date.now();
    if (entry.list === undefined) return entry.reading ?? this.read(connection, entry, () => this.load(connection));
    if (Date.now() - entry.list.at > FRESH_MS) this.refreshInBackground(connection, entry);
    return entry.list;
  }

  /** A list that is not older than it may be: a mark that was withdrawn since must not decide. */
  async fresh(connection: Connection): Promise<ToolList> {
    const list = await this.of(connection);
    if (Date.now() - list.at <= FRESH_MS) return list;
    const entry = this.entryOf(connection);
    return entry.reading ?? this.read(connection, entry, () => this.fetch(connection));
  }

  /** The list that has to be looked at before a tool is said not to exist. */
  async recheck(connection: Connection): Promise<ToolList> {
    const list = await this.of(connection);
    const entry = this.entryOf(connection);
    if (Date.now() - list.at < RECHECK_MS) return list;
    return entry.reading ?? this.read(connection, entry, () => this.fetch(connection));
  }

  /** Takes over a complete list that the upstream has just sent for another reason. */
  learn(connection: Connection, tools: readonly UpstreamTool[]): void {
    this.keep(connection, this.entryOf(connection), toToolList(tools, Date.now()));
  }

  /** The upstream says that its tools have changed (`notifications/tools/list_changed`). */
  refresh(connection: Connection): void {
    const entry = this.entries.get(connection.id);
    if (entry?.revision !== connection.revision || entry.due !== undefined) return;
    const { list, reading } = entry;
    if (list === undefined && reading === undefined) return;
    const now = Date.now();
    if (list !== undefined && now - entry.usedAt > IN_USE_MS) {
      // Whoever asks for it next has it read anew.
      entry.list = { ...list, at: 0 };
      return;
    }
    // What is being read now may have been listed before the change.
    const waitMs = list === undefined || reading !== undefined ? RECHECK_MS : list.at + RECHECK_MS - now;
    if (waitMs <= 0) this.refreshInBackground(connection, entry);
    else entry.due = setTimeout(() => this.refreshLate(connection, entry), waitMs).unref();
  }

  private refreshLate(connection: Connection, entry: Entry): void {
    entry.due = undefined;
    if (this.entries.get(connection.id) === entry) this.refresh(connection);
  }

  private async refreshById(connectionId: string): Promise<void> {
    if (!this.entries.has(connectionId)) return;
    try {
      const connection = await this.directory.findAnywhere(connectionId);
      if (connection !== undefined && connection.status !== 'inactive') this.refresh(connection);
    } catch (error) {
      this.logger.debug({ connection_id: connectionId, err: error }, 'The tools of a connection were not refreshed');
    }
  }

  private refreshInBackground(connection: Connection, entry: Entry): void {
    if (entry.reading !== undefined) return;
    this.read(connection, entry, () => this.fetch(connection)).catch((error: Error) => {
      this.logger.debug({ connection_id: connection.id, err: error }, 'The tools of a connection were not refreshed');
      // The old list goes on for another while.
      if (entry.list !== undefined) entry.list = { ...entry.list, at: Date.now() };
    });
  }

  private read(connection: Connection, entry: Entry, load: () => Promise<ToolList>): Promise<ToolList> {
    entry.reading = load()
      .then((list) => {
        this.keep(connection, entry, list);
        return list;
      })
      .finally(() => {
        entry.reading = undefined;
      });
    return entry.reading;
  }

  private async load(connection: Connection): Promise<ToolList> {
    const stored = await this.directory.lastKnownTools(connection);
    // What was stored came from `listTools`.
    if (stored !== undefined) return toToolList(stored.tools as UpstreamTool[], stored.at.getTime());
    return this.fetch(connection);
  }

  private async fetch(connection: Connection): Promise<ToolList> {
    return toToolList(await this.lister.list(connection), Date.now());
  }

  private entryOf({ id, revision }: Connection): Entry {
    const known = this.entries.get(id);
    if (known?.revision === revision) return known;
    const entry: Entry = { revision, list: undefined, reading: undefined, usedAt: Date.now(), due: undefined };
    this.drop(id);
    this.entries.set(id, entry);
    return entry;
  }

  private keep({ id }: Connection, entry: Entry, list: ToolList): void {
    // It may have been dropped for another revision meanwhile.
    if (this.entries.get(id) !== entry) return;
    this.entries.delete(id);
    this.entries.set(id, entry);
    if (entry.list?.digest === list.digest) {
      // The same objects stay: compiled validators hang on them.
      entry.list = { ...entry.list, at: list.at };
      return;
    }
    this.size += list.size - (entry.list?.size ?? 0);
    entry.list = list;
    for (const oldest of this.entries.keys()) {
      if (this.size <= MAX_SIZE || oldest === id) break;
      this.drop(oldest);
    }
    for (const listener of this.listeners) listener(id);
  }

  private drop(id: string): void {
    const entry = this.entries.get(id);
    clearTimeout(entry?.due);
    this.size -= entry?.list?.size ?? 0;
    this.entries.delete(id);
  }
}
