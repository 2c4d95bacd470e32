import { Injectable } from '@nestjs/common';
import { BriefMemory } from '../common/brief-memory.js';
import type { Connection } from './connection.js';
import { ConnectionChanges } from './connection-changes.js';

/** An edit in another process is seen within a second, so a connection is believed for a little less. */
const BELIEVED_MS = 900;
const MAX_ENTRIES = 10_000;

/** The connections of this process by id, as they are stored: secrets stay sealed. An edit in this process is seen at once. */
@Injectable()
export class ConnectionCache extends BriefMemory<Connection | undefined> {
  constructor(changes: ConnectionChanges) {
    super(BELIEVED_MS, MAX_ENTRIES);
    changes.onChange((connectionId) => this.forget(connectionId));
  }
}
