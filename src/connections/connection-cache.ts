import { Injectable } from '@nestjs/common';
import type { Connection } from './connection.js';
import { ConnectionChanges } from './connection-changes.js';

/** An edit in another process is seen within a second, so a connection is believed for a little less. */
const BELIEVED_MS = 900;
const MAX_ENTRIES = 10_000;

interface Entry {
  loadedAt: number;
  connection: Promise<Connection | undefined>;
}

/**
 * Remembers connections for less than a second, as they are stored: secrets stay sealed. Concurrent look-ups share one read,
 * and an edit in this process is seen at once.
 */
@Injectable()
export class ConnectionCache {
  private readonly entries = new Map<string, Entry>();

  constructor(changes: ConnectionChanges) {
    changes.onChange((connectionId) => this.entries.delete(connectionId));
  }

  find(id: string, load: () => Promise<Connection | undefined>): Promise<Connection | undefined> {
    const now = Date.now();
    const known = this.entries.get(id);
    if (known !== undefined && now - known.loadedAt < BELIEVED_MS) return known.connection;
    if (this.entries.size >= MAX_ENTRIES) this.entries.clear();
    const entry = { loadedAt: now, connection: load() };
    this.entries.set(id, entry);
    entry.connection.catch(() => this.entries.get(id) === entry && this.entries.delete(id));
    return entry.connection;
  }
}
