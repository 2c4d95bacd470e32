import { Injectable } from '@nestjs/common';
import type { Connection } from '../../../connections/connection.js';
import { ToolCatalog } from '../../../upstreams/catalog/tool-catalog.js';
import { type ToolList, toToolList } from '../../../upstreams/catalog/tool-list.js';
import type { ExchangeOptions, UpstreamChannel } from '../../../upstreams/messages/upstream-channel.js';
import { listThroughChannel } from '../../../upstreams/channels/list-through-channel.js';

const MAX_SESSIONS = 1_000;
/** All lists together, in UTF-16 code units of their JSON text. */
const MAX_SIZE = 32 * 1024 * 1024;

/**
 * What upstreams list to the sessions of callers who declared capabilities: tools that need sampling, say, are listed to
 * those only. Read when such a session first calls a tool, and again when its upstream says that the list has changed.
 */
@Injectable()
export class SessionTools {
  /** By session, in the order of first use. */
  private readonly lists = new Map<string, Promise<ToolList>>();
  private size = 0;

  constructor(private readonly catalog: ToolCatalog) {}

  of(sessionKey: string, channel: UpstreamChannel, options: ExchangeOptions): Promise<ToolList> {
    const known = this.lists.get(sessionKey);
    if (known !== undefined) return known;
    const list = listThroughChannel(channel, options).then((tools) => toToolList(tools, Date.now()));
    this.lists.set(sessionKey, list);
    list.then(
      ({ size }) => this.makeRoom(size),
      () => this.lists.delete(sessionKey),
    );
    return list;
  }

  /**
   * The upstream says that its list of tools has changed.
   * @param sessionKey of the session in which it says so, if that has tools of its own
   */
  listChanged(connection: Connection, sessionKey: string | undefined): void {
    if (sessionKey !== undefined) this.forget(sessionKey);
    this.catalog.refresh(connection);
  }

  forget(sessionKey: string): void {
    const list = this.lists.get(sessionKey);
    this.lists.delete(sessionKey);
    void list?.then(
      ({ size }) => (this.size -= size),
      () => undefined,
    );
  }

  private makeRoom(added: number): void {
    this.size += added;
    for (const oldest of this.lists.keys()) {
      if (this.lists.size <= 1 || (this.size <= MAX_SIZE && this.lists.size <= MAX_SESSIONS)) return;
      this.forget(oldest);
    }
  }
}
