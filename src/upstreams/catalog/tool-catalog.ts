import { Injectable, Logger } from '@nestjs/common';
import { type Connection, accountKey, connectionFor } from '../../connections/connection.js';
import { ConnectionDirectory } from '../../connections/connection-directory.js';
import { AnswerRooms } from '../../core/answers/answer-room.js';
import { mapMaybePromise } from '../../core/map-maybe-promise.js';
import { FairCache } from '../../core/sharing/fair-cache.js';
import { OfferedTools } from './offered-tools.js';
import type { UpstreamTool } from '../contract/upstream.js';
import { type ToolList, toToolList } from './tool-list.js';
import { ToolPins } from '../pins/tool-pins.js';
import { UpstreamHealth } from '../pool/upstream-health.js';
import { UpstreamPool } from '../pool/upstream-pool.js';
import { UpstreamTargets } from '../pool/upstream-targets.js';
import { ListChangeFeed } from './list-change-feed.js';

@Injectable()
export class ToolLister {
  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly targets: UpstreamTargets,
    private readonly pool: UpstreamPool,
    private readonly health: UpstreamHealth,
    private readonly pins: ToolPins,
    private readonly rooms: AnswerRooms,
  ) {}

  /**
   * Requests the upstream's tools, stores them as the last known ones, and records those that are not approved.
   * @throws DomainError `connection_unavailable`, UpstreamError
   */
  async list(connection: Connection, signal?: AbortSignal): Promise<UpstreamTool[]> {
    const target = this.targets.targetFor(connection);
    const tools = await this.health.watchCall(connection, () =>
      this.rooms.withOwnRoom(connection.organizationId, (room) =>
        this.pool.use(target, (upstream) => upstream.listTools({ signal, room })),
      ),
    );
    await this.pins.recordList(connection, tools);
    await this.directory.rememberTools(connection, tools);
    return tools;
  }
}

/** After this time a list in use is refreshed in the background. */
export const FRESH_MS = 60_000;
/** A tool that is not listed may be new, so the list is read again, but not more often than this. */
const MIN_INTERVAL_MS = 2_000;
/**
 * A list that was not used during this time is not read when it changes, so that an upstream cannot keep its list in
 * use.
 */
const IN_USE_MS = 5 * 60_000;
/** Of lists, also of those that could not be read. */
const MAX_ENTRIES = 10_000;
/** The total of all lists, in UTF-16 code units of their JSON text. */
const MAX_SIZE = 64 * 1024 * 1024;

/** An account's list. It outlives the connection, and must not keep its settings. */
interface Entry extends Pick<Connection, 'accountUserId' | 'revision'> {
  readonly connectionId: string;
  list: ToolList | undefined;
  reading: Promise<ToolList> | undefined;
  /** When it was last used, in milliseconds since the epoch. */
  usedAt: number;
  /** The scheduled refresh, after the upstream reported a change. */
  scheduled: NodeJS.Timeout | undefined;
}

/**
 * Caches the tools of every connection in use, with their input schemas and public marks. A list is read from the
 * database or, if it is not stored, from the upstream. It is then refreshed in the background. Of a connection that
 * blocks tools that are not approved, the catalog has the others.
 */
@Injectable()
export class ToolCatalog {
  private readonly logger = new Logger(ToolCatalog.name);
  /** By connection and account (`accountKey`), in the order of the last reads; held by organizations. */
  private readonly entries = new FairCache<Entry>({ maxEntries: MAX_ENTRIES, maxWeight: MAX_SIZE });
  private readonly listeners: ((connectionId: string) => void)[] = [];

  constructor(
    private readonly directory: ConnectionDirectory,
    private readonly lister: ToolLister,
    private readonly offered: OfferedTools,
    feed: ListChangeFeed,
  ) {
    feed.onChange((connectionId, kind) => {
      if (kind === 'tools') void this.refreshById(connectionId);
    });
  }

  /** Calls the listener for every connection whose list is new or has changed. */
  onChange(listener: (connectionId: string) => void): void {
    this.listeners.push(listener);
  }

  /** The connection's tools; a promise only if they are not cached. Rejects as `ToolLister.list` does. */
  toolsOf(connection: Connection): ToolList | Promise<ToolList> {
    return this.offerOf(connection, this.listOf(connection));
  }

  /** False if the upstream's list is known and fresh, and has no tool that is not for models. Reads nothing. */
  mayHaveAppOnly(connection: Connection): boolean {
    const entry = this.entries.get(accountKey(connection));
    if (entry?.revision !== connection.revision || entry.list === undefined) return true;
    return entry.list.hasAppOnly || Date.now() - entry.list.at > FRESH_MS;
  }

  /** The tools as cached or stored; undefined if there are none. Calls no upstream, and does not count as a use. */
  async lastKnownOf(connection: Connection): Promise<ToolList | undefined> {
    const entry = this.entries.get(accountKey(connection));
    const isCached = entry?.revision === connection.revision && entry.list !== undefined;
    const list = isCached ? entry.list : await this.stored(connection);
    return list && this.offerOf(connection, list);
  }

  /** A list that is not outdated, so that a public mark that was withdrawn has no effect. */
  async fresh(connection: Connection): Promise<ToolList> {
    return this.offerOf(connection, this.listWithin(FRESH_MS, connection));
  }

  /** A list that is recent enough to report a tool as unknown. */
  async recheck(connection: Connection): Promise<ToolList> {
    return this.offerOf(connection, this.listWithin(MIN_INTERVAL_MS, connection));
  }

  /** Stores a complete list that the upstream has just sent to a caller. */
  learn(connection: Connection, tools: readonly UpstreamTool[]): void {
    this.keep(connection, this.entryOf(connection), toToolList(tools, Date.now()));
  }

  /** Call when the upstream reports that its tools have changed (`notifications/tools/list_changed`). */
  refresh(connection: Connection): void {
    const entry = this.entries.get(accountKey(connection));
    if (entry?.revision !== connection.revision || entry.scheduled !== undefined) return;
    const { list, reading } = entry;
    if (list === undefined && reading === undefined) return;
    const now = Date.now();
    if (list !== undefined && now - entry.usedAt > IN_USE_MS) {
      // The next use reads it again.
      entry.list = { ...list, at: 0 };
      return;
    }
    // A read in progress may have started before the change.
    const waitMs = list === undefined || reading !== undefined ? MIN_INTERVAL_MS : list.at + MIN_INTERVAL_MS - now;
    if (waitMs <= 0) this.refreshInBackground(connection, entry);
    else entry.scheduled = setTimeout(() => this.refreshLate(connection, entry), waitMs).unref();
  }

  private offerOf(connection: Connection, list: ToolList | Promise<ToolList>): ToolList | Promise<ToolList> {
    if (connection.pin === 'off') return list;
    return mapMaybePromise(list, (known) => this.offered.offerOf(connection, known));
  }

  private listOf(connection: Connection): ToolList | Promise<ToolList> {
    const entry = this.entryOf(connection);
    entry.usedAt = Date.now();
    if (entry.list === undefined) return entry.reading ?? this.read(connection, entry, () => this.load(connection));
    if (Date.now() - entry.list.at > FRESH_MS) this.refreshInBackground(connection, entry);
    return entry.list;
  }

  private async listWithin(ageMs: number, connection: Connection): Promise<ToolList> {
    const list = await this.listOf(connection);
    if (Date.now() - list.at <= ageMs) return list;
    const entry = this.entryOf(connection);
    return entry.reading ?? this.read(connection, entry, () => this.fetch(connection));
  }

  private refreshLate(connection: Connection, entry: Entry): void {
    entry.scheduled = undefined;
    if (this.entries.get(accountKey(connection)) === entry) this.refresh(connection);
  }

  private async refreshById(connectionId: string): Promise<void> {
    const accounts = this.accountsAt(connectionId);
    if (accounts.length === 0) return;
    try {
      const connection = await this.directory.findAnywhere(connectionId);
      if (connection === undefined || connection.status === 'inactive') return;
      for (const accountUserId of accounts) this.refresh(connectionFor(connection, accountUserId));
    } catch (error) {
      this.logger.debug({ connection_id: connectionId, err: error }, 'Could not refresh the tools of a connection');
    }
  }

  /** The members whose accounts have an entry; undefined for the account of the connection. */
  private accountsAt(connectionId: string): (string | undefined)[] {
    if (this.entries.get(connectionId) !== undefined) return [undefined];
    const accounts: (string | undefined)[] = [];
    for (const entry of this.entries.values()) {
      if (entry.connectionId === connectionId) accounts.push(entry.accountUserId);
    }
    return accounts;
  }

  private refreshInBackground(connection: Connection, entry: Entry): void {
    if (entry.reading !== undefined) return;
    this.read(connection, entry, () => this.fetch(connection)).catch((error: Error) => {
      this.logger.debug({ connection_id: connection.id, err: error }, 'Could not refresh the tools of a connection');
      // Keep the old list for another interval, except where calls need one that was read.
      if (entry.list !== undefined && connection.pin !== 'block') entry.list = { ...entry.list, at: Date.now() };
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
    return (await this.stored(connection)) ?? this.fetch(connection);
  }

  private async stored(connection: Connection): Promise<ToolList | undefined> {
    const stored = await this.directory.lastKnownTools(connection);
    // The stored tools came from `listTools`.
    return stored && toToolList(stored.tools as UpstreamTool[], stored.at.getTime());
  }

  private async fetch(connection: Connection): Promise<ToolList> {
    return toToolList(await this.lister.list(connection), Date.now());
  }

  private entryOf(connection: Connection): Entry {
    const { id: connectionId, accountUserId, organizationId, revision } = connection;
    const key = accountKey(connection);
    const known = this.entries.get(key);
    if (known?.revision === revision) return known;
    const entry: Entry = {
      connectionId,
      accountUserId,
      revision,
      list: undefined,
      reading: undefined,
      usedAt: Date.now(),
      scheduled: undefined,
    };
    this.entries.set(key, organizationId, entry);
    return entry;
  }

  private keep(connection: Connection, entry: Entry, list: ToolList): void {
    const key = accountKey(connection);
    // The entry may have been evicted, or replaced by that of another revision, in the meantime.
    if (this.entries.get(key) !== entry) return;
    const known = entry.list;
    const isKnown = known?.digest === list.digest;
    // Keep the same objects: compiled validators are cached by them.
    entry.list = isKnown ? { ...known, at: list.at } : list;
    this.entries.set(key, connection.organizationId, entry, new Map([[entry, list.size]]));
    if (isKnown) return;
    for (const listener of this.listeners) listener(connection.id);
  }
}
