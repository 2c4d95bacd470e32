import { Injectable } from '@nestjs/common';
import type { Connection } from '../../../connections/connection.js';
import { ToolCatalog } from '../../../upstreams/catalog/tool-catalog.js';
import { TtlCache } from '../../../common/ttl-cache.js';
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
  private readonly lists = new TtlCache<ToolList>({
    maxEntries: MAX_SESSIONS,
    weight: { max: MAX_SIZE, of: ({ size }) => size },
  });

  constructor(private readonly catalog: ToolCatalog) {}

  async of(sessionKey: string, channel: UpstreamChannel, options: ExchangeOptions): Promise<ToolList> {
    return this.lists.get(sessionKey, async () => toToolList(await listThroughChannel(channel, options), Date.now()));
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
    this.lists.forget(sessionKey);
  }
}
