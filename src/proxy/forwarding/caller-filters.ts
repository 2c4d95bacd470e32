import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Connection } from '../../connections/connection.js';
import { OfferedTools } from '../../upstreams/catalog/offered-tools.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import { METADATA_KEY } from '../../upstreams/catalog/tool-list.js';
import { isAppOnly } from '../../upstreams/contract/app-tool.js';
import type { InboundRequest } from '../protocol/inbound-message.js';
import type { CallerFilter, ProxyCaller } from '../protocol/proxy-caller.js';
import { TaskOwners } from './tasks/task-owners.js';
import type { McpRequestContext } from './upstream-router.js';

const LIST = 'tools/list';
/** For a caller with `*`, whose list still lacks what the connection does not offer. */
const EVERYTHING: CallerFilter = { shows: () => true, ownsTask: () => true };

/** Which parts of an upstream's messages a caller sees. */
@Injectable()
export class CallerFilters {
  constructor(
    private readonly tasks: TaskOwners,
    private readonly catalog: ToolCatalog,
    private readonly offered: OfferedTools,
  ) {}

  /**
   * The filter on the answer to a request; undefined if it passes unread. A promise only for a list of a pinned
   * connection.
   */
  forRequest(context: McpRequestContext<InboundRequest>): CallerFilter | undefined | Promise<CallerFilter> {
    const { caller, message, request } = context;
    const permitted = this.tasks.filterFor(caller);
    if (message.method !== LIST) return permitted;
    const filter = this.withLearning(context, this.withoutAppOnly(request, caller.connection, permitted));
    return caller.connection.pin === 'off' ? filter : this.withOffer(caller, filter);
  }

  /** The filter on a stream that belongs to no request, which can repeat the answer to an earlier one. */
  forStream(request: FastifyRequest, caller: ProxyCaller): CallerFilter | undefined | Promise<CallerFilter> {
    const permitted = this.tasks.filterFor(caller);
    const isResumed = request.headers['last-event-id'] !== undefined;
    const filter = isResumed ? this.withoutAppOnly(request, caller.connection, permitted) : permitted;
    return caller.connection.pin === 'off' ? filter : this.withOffer(caller, filter);
  }

  /** Hides what is not for models from clients that would offer it to one. */
  private withoutAppOnly(
    { hasApps }: FastifyRequest,
    connection: Connection,
    filter: CallerFilter | undefined,
  ): CallerFilter | undefined {
    if (hasApps === true) return filter;
    if (filter === undefined && !this.catalog.mayHaveAppOnly(connection)) return undefined;
    const { shows, ...others } = filter ?? EVERYTHING;
    return { ...others, shows: (tool) => !isAppOnly(tool) && shows(tool) };
  }

  /** Stores a list that is the same for every caller in the catalog too. */
  private withLearning(
    { caller, message, route }: McpRequestContext<InboundRequest>,
    filter: CallerFilter | undefined,
  ): CallerFilter | undefined {
    const isShared = route.kind === 'pooled' && route.owner === undefined;
    const isCommonList = isShared && isUnparameterized(message.params);
    if (filter === undefined || !isCommonList) return filter;
    return { ...filter, onComplete: (tools) => this.catalog.learn(caller.connection, tools) };
  }

  private async withOffer({ connection }: ProxyCaller, filter = EVERYTHING): Promise<CallerFilter> {
    // The first complete list of a pinned connection is approved; a page of the caller may not be complete.
    await Promise.resolve(this.catalog.toolsOf(connection)).catch(() => undefined);
    const page = await this.offered.pageOf(connection);
    return { ...filter, ...page };
  }
}

/** What a client of an agent declares in `_meta` does not change the list of a connection. */
const HARMLESS_META: ReadonlySet<string> = new Set(['progressToken', METADATA_KEY]);

/** Other params could select a list that is not the same for every caller. */
function isUnparameterized({ _meta: meta = {}, ...others }: InboundRequest['params']): boolean {
  return Object.keys(others).length === 0 && Object.keys(meta as object).every((name) => HARMLESS_META.has(name));
}
