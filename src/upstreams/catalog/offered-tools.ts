import { Injectable } from '@nestjs/common';
import type { Connection, PinRule } from '../../connections/connection.js';
import { mapMaybePromise } from '../../core/map-maybe-promise.js';
import { isRecord } from '../../core/is-record.js';
import { MAX_TOOLS } from '../contract/tool-listing.js';
import type { UpstreamTool } from '../contract/upstream.js';
import type { PinState, ToolStatus } from '../pins/pin-state.js';
import { isPinnable, computeFingerprints, ToolPins } from '../pins/tool-pins.js';
import { type KnownTool, METADATA_KEY, type ToolList } from './tool-list.js';

/** What a connection offers of a list, for one state of its pin. */
interface Offer {
  readonly state: PinState;
  readonly pin: PinRule;
  readonly list: ToolList;
}

/** What a pinned connection offers of a page of tools that is relayed. */
interface OfferedPage {
  /** The tools that are offered of the first 10,000, with the marks of those that are not approved. */
  readonly offer: (tools: readonly UpstreamTool[]) => readonly UpstreamTool[];
  /** Records what is not approved among the tools that passed. */
  readonly record: () => Promise<void>;
}

/**
 * What callers see of the lists of a connection. A tool whose definition is not approved is missing where the
 * connection blocks it, and marked in its `_meta` where the connection warns.
 */
@Injectable()
export class OfferedTools {
  /** By the tools of the upstream's list. */
  private readonly offers = new WeakMap<ToolList['tools'], Offer>();

  constructor(private readonly pins: ToolPins) {}

  /** The tools that the connection offers; a promise only while that is not known. */
  offerOf(connection: Connection, list: ToolList): ToolList | Promise<ToolList> {
    if (connection.pin === 'off') return list;
    return mapMaybePromise(this.pins.stateOf(connection), (state) => {
      const known = this.offers.get(list.tools);
      if (known?.state === state && known.pin === connection.pin) return { ...known.list, at: list.at };
      return this.makeOffer(connection, list, state);
    });
  }

  /**
   * For a page that is relayed to a caller. The state is that of now, or a later one that this process has read.
   * @returns undefined if the connection is not pinned
   */
  async pageOf(connection: Connection): Promise<OfferedPage | undefined> {
    if (connection.pin === 'off') return undefined;
    let state = await this.pins.stateOf(connection);
    const passed: UpstreamTool[] = [];
    return {
      offer: (listed) => {
        const tools = listed.slice(0, MAX_TOOLS);
        const latest = this.pins.stateOf(connection);
        if (!(latest instanceof Promise)) state = latest;
        else latest.catch(() => undefined);
        passed.push(...tools);
        return tools.flatMap((tool) => offerTool(tool, state.statusOfRead(tool), connection.pin) ?? []);
      },
      record: async () => {
        if (passed.length > 0) await this.pins.recordList(connection, passed.splice(0), false);
      },
    };
  }

  private async makeOffer({ pin, organizationId }: Connection, list: ToolList, state: PinState): Promise<ToolList> {
    await computeFingerprints(
      organizationId,
      [...list.tools.values()].map(({ definition }) => definition),
    );
    const tools = new Map<string, KnownTool>();
    let hasPublic = false;
    for (const [name, tool] of list.tools) {
      // A kept list may show a definition that has changed since; only calls have to know that.
      const status = pin === 'block' ? state.statusOf(tool.definition) : state.statusOfRead(tool.definition);
      const definition = offerTool(tool.definition, status, pin);
      if (definition === undefined) continue;
      hasPublic ||= tool.isPublic;
      tools.set(name, definition === tool.definition ? tool : { ...tool, definition });
    }
    const offered = { ...list, tools, hasPublic };
    this.offers.set(list.tools, { state, pin, list: offered });
    return offered;
  }
}

/** The tool as it is offered; undefined if it is not. */
function offerTool(tool: UpstreamTool, status: ToolStatus, pin: PinRule): UpstreamTool | undefined {
  if (status === 'approved') return tool;
  if (pin === 'block' || !isPinnable(tool)) return undefined;
  const { [METADATA_KEY]: metadata, ...others } = tool._meta ?? {};
  return { ...tool, _meta: { ...others, [METADATA_KEY]: { ...(isRecord(metadata) && metadata), pin: status } } };
}
