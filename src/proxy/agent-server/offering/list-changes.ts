import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { AgentComposition } from '../../../agents/composition/agent-composition.js';
import { type Composition, OFFER_KINDS, type OfferKind } from '../../../agents/composition/composition.js';
import { OfferLists } from '../../../agents/composition/offer-lists.js';
import { LISTED_KINDS, type ListedKind } from '../../../upstreams/contract/list-change.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { mayUse } from './agent-permissions.js';
import { toolListTexts } from './agent-tool-list.js';

/** Polling finds the changes of other processes, and keeps the lists fresh while there are no calls. */
const POLL_INTERVAL_MS = 15_000;
/** Changes within this time are reported together. */
const DEBOUNCE_MS = 100;

/** The state of the lists at the last notification of the caller. */
interface Snapshot {
  /** Differ when the lists do. */
  readonly digests: Readonly<Record<ListedKind, string>>;
  readonly memberIds: ReadonlySet<string>;
}

/** Detects when the lists of an agent change for one caller. */
@Injectable()
export class ListChanges {
  constructor(
    private readonly compositions: AgentComposition,
    private readonly offers: OfferLists,
  ) {}

  /** Yields the kind of each list that changes, until the signal is aborted. */
  async *changesFor(caller: ProxyCaller, signal: AbortSignal): AsyncGenerator<ListedKind> {
    let previous: Snapshot | undefined;
    let changed = new AbortController();
    const onChange = (id: string): void => {
      if (previous?.memberIds.has(id) !== false) changed.abort();
    };
    const stops = [this.compositions.onChange(onChange), this.offers.onChange(onChange)];
    try {
      while (!signal.aborted) {
        changed = new AbortController();
        const current = await this.takeSnapshot(caller);
        const differing = previous === undefined || current === undefined ? [] : differingKinds(previous, current);
        previous = current ?? previous;
        yield* differing;
        await sleep(POLL_INTERVAL_MS, undefined, { signal: AbortSignal.any([signal, changed.signal]) }).catch(
          () => undefined,
        );
        if (!signal.aborted) await sleep(DEBOUNCE_MS);
      }
    } finally {
      for (const stop of stops) stop();
    }
  }

  /** Undefined if the lists cannot be determined. */
  private async takeSnapshot(caller: ProxyCaller): Promise<Snapshot | undefined> {
    try {
      const composition = await this.compositions.compositionOf(caller.connection);
      const [prompts, resources] = OFFER_KINDS.map((kind) => this.offersVersion(caller, composition, kind));
      const list = await toolListTexts(caller, composition, { isWhole: true, hasApps: true });
      const digests = {
        tools: [...list.tools, list.others]
          .reduce((digest, text) => digest.update(text), createHash('sha256'))
          .digest('hex'),
        prompts: prompts ?? '',
        // The pages of tools decide on the addresses of resources too.
        resources: `${resources ?? ''}\n${sharedPages(composition).join('\n')}`,
      };
      return { digests, memberIds: composition.memberIds };
    } catch {
      return undefined;
    }
  }

  /** A text that changes when the caller's prompts or resources do. Sends no requests to upstreams. */
  private offersVersion(caller: ProxyCaller, { sources }: Composition, kind: OfferKind): string {
    return sources
      .filter((source) => mayUse(caller, source, kind))
      .map(({ connection: { id, revision }, prefix }) =>
        [id, revision, prefix, this.offers.generationOf(id, kind)].join(' '),
      )
      .join('\n');
  }
}

/** The pages that several connections have. */
function sharedPages({ pages }: Composition): string[] {
  return [...pages].filter(([, owners]) => owners.size > 1).map(([uri, owners]) => [uri, ...owners].join(' '));
}

function differingKinds(previous: Snapshot, current: Snapshot): ListedKind[] {
  return LISTED_KINDS.filter((kind) => previous.digests[kind] !== current.digests[kind]);
}
