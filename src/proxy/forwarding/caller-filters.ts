import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Connection } from '../../connections/connection.js';
import { OfferedTools } from '../../upstreams/catalog/offered-tools.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import { METADATA_KEY } from '../../upstreams/catalog/tool-list.js';
import { isAppOnly } from '../../upstreams/contract/app-tool.js';
import type { InboundRequest } from '../protocol/inbound-message.js';
import type { CallerFilter, ProxyCaller } from '../protocol/proxy-caller.js';
import type { Session } from './session/sealed-sessions.js';
import { TaskOwners } from './tasks/task-owners.js';
import { hasOwnTools, type McpRequestContext } from './upstream-router.js';

const LIST = 'tools/list';
const TASK_LIST = 'tasks/list';
/** For a caller with `*`, whose list still lacks what the connection does not offer. */
const EVERYTHING: CallerFilter = { shows: () => true, ownsTask: () => true };
/** For a caller with `*`, whose client does not get the tools for apps alone. */
const ALL_FOR_MODELS: CallerFilter = { ...EVERYTHING, shows: (tool) => !isAppOnly(tool), holdsAll: true };

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
    const { caller, message, request, route } = context;
    if (message.method === TASK_LIST) return this.tasks.ownFilterFor(caller);
    if (message.method !== LIST) {
      const others = this.tasks.filterFor(caller);
      // The rewriting drops notifications about other callers' tasks.
      const isRewritten = route.kind !== 'session' && 'rewriteEvent' in route && route.rewriteEvent !== undefined;
      return isRewritten && others !== undefined ? { ...others, ownsTask: () => true } : others;
    }
    const filter = this.withLearning(context, this.withoutAppOnly(request, caller, hasOwnTools(route)));
    return caller.connection.pin === 'off' ? filter : this.withOffer(caller, filter);
  }

  /** The filter on a stream that belongs to no request, which can repeat the answer to an earlier one. */
  forStream(
    request: FastifyRequest,
    caller: ProxyCaller,
    session: Session,
  ): CallerFilter | undefined | Promise<CallerFilter> {
    const isResumed = request.headers['last-event-id'] !== undefined;
    const filter = isResumed ? this.withoutAppOnly(request, caller, session.hasOwnTools) : this.tasks.filterFor(caller);
    return caller.connection.pin === 'off' ? filter : this.withOffer(caller, filter);
  }

  /** The caller's filter, which hides what is not for models from clients that would offer it to one. */
  private withoutAppOnly(
    { hasApps }: FastifyRequest,
    caller: ProxyCaller,
    isOwnList: boolean,
  ): CallerFilter | undefined {
    const filter = this.tasks.filterFor(caller);
    if (hasApps === true) return filter;
    if (filter !== undefined) return { ...filter, shows: (tool) => !isAppOnly(tool) && filter.shows(tool) };
    const mayHaveAppOnly = isOwnList || this.catalog.mayHaveAppOnly(caller.connection);
    return mayHaveAppOnly ? ALL_FOR_MODELS : undefined;
  }

  /**
   * Stores a list that is the same for every caller in the catalog too. Another list of a caller with `*` has the
   * catalog read its own, so that the next one can pass unread.
   */
  private withLearning(
    { caller: { connection }, message, route }: McpRequestContext<InboundRequest>,
    filter: CallerFilter | undefined,
  ): CallerFilter | undefined {
    if (filter === undefined) return undefined;
    const isShared = route.kind === 'pooled' && route.owner === undefined;
    if (isShared && isUnparameterized(message.params)) {
      return { ...filter, onComplete: (tools) => this.catalog.learn(connection, tools) };
    }
    return filter.holdsAll === true && !hasOwnTools(route)
      ? { ...filter, onComplete: () => void this.read(connection) }
      : filter;
  }

  private async withOffer({ connection }: ProxyCaller, filter = EVERYTHING): Promise<CallerFilter> {
    // The first complete list of a pinned connection is approved; a page of the caller may not be complete.
    await this.read(connection);
    const page = await this.offered.pageOf(connection);
    const { holdsAll: _isWhole, ...limited } = filter;
    return { ...limited, ...page };
  }

  /** Has the catalog read the tools of the connection. Never rejects. */
  private async read(connection: Connection): Promise<void> {
    await Promise.resolve(this.catalog.toolsOf(connection)).catch(() => undefined);
  }
}

/** What a client of an agent declares in `_meta` does not change the list of a connection. */
const HARMLESS_META: ReadonlySet<string> = new Set(['progressToken', METADATA_KEY]);

/** Other params could select a list that is not the same for every caller. */
function isUnparameterized({ _meta: meta = {}, ...others }: InboundRequest['params']): boolean {
  return Object.keys(others).length === 0 && Object.keys(meta as object).every((name) => HARMLESS_META.has(name));
}
