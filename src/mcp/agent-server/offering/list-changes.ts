import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { AgentComposition } from '../../../agents/composition/agent-composition.js';
import { type Composition, OFFER_KINDS, type OfferKind } from '../../../agents/composition/composition.js';
import { OfferLists } from '../../../agents/composition/offer-lists.js';
import { LISTED_KINDS, type ListedKind } from '../../../upstreams/contract/list-change.js';
import type { ProxyCaller } from '../../protocol/proxy-caller.js';
import { mayUse } from './agent-permissions.js';
import { toolListText } from './agent-tool-list.js';

/** What other processes change is found out by looking; it also keeps the lists fresh while nobody calls. */
const LOOK_EVERY_MS = 15_000;
/** Many changes at once are one. */
const GATHER_MS = 100;

/** The lists that a caller was last told of. */
interface Seen {
  /** Differ when the lists do. */
  readonly digests: Readonly<Record<ListedKind, string>>;
  readonly memberIds: ReadonlySet<string>;
}

/** Notices when the lists of an agent change, as far as one caller sees them. */
@Injectable()
export class ListChanges {
  constructor(
    private readonly compositions: AgentComposition,
    private readonly offers: OfferLists,
  ) {}

  /** Yields the kind of list with every change, until the signal is aborted. */
  async *of(caller: ProxyCaller, signal: AbortSignal): AsyncGenerator<ListedKind> {
    let seen: Seen | undefined;
    let changed = new AbortController();
    const note = (id: string): void => {
      if (seen?.memberIds.has(id) !== false) changed.abort();
    };
    const stops = [this.compositions.onChange(note), this.offers.onChange(note)];
    try {
      while (!signal.aborted) {
        changed = new AbortController();
        const present = await this.look(caller);
        const differing = seen === undefined || present === undefined ? [] : differingKinds(seen, present);
        seen = present ?? seen;
        yield* differing;
        await sleep(LOOK_EVERY_MS, undefined, { signal: AbortSignal.any([signal, changed.signal]) }).catch(
          () => undefined,
        );
        if (!signal.aborted) await sleep(GATHER_MS);
      }
    } finally {
      for (const stop of stops) stop();
    }
  }

  /** Undefined while it cannot be told. */
  private async look(caller: ProxyCaller): Promise<Seen | undefined> {
    try {
      const composition = await this.compositions.of(caller.connection);
      const [prompts, resources] = OFFER_KINDS.map((kind) => this.offersText(caller, composition, kind));
      const digests = {
        tools: hash('sha256', await toolListText(caller, composition)),
        prompts: prompts ?? '',
        resources: resources ?? '',
      };
      return { digests, memberIds: composition.memberIds };
    } catch {
      return undefined;
    }
  }

  /** Where the caller's prompts or resources come from, and whether they are still the same. No upstream is asked for it. */
  private offersText(caller: ProxyCaller, { sources }: Composition, kind: OfferKind): string {
    return sources
      .filter((source) => mayUse(caller, source, kind))
      .map(({ connection: { id, revision }, prefix }) =>
        [id, revision, prefix, this.offers.generationOf(id, kind)].join(' '),
      )
      .join('\n');
  }
}

function differingKinds(seen: Seen, present: Seen): ListedKind[] {
  return LISTED_KINDS.filter((kind) => seen.digests[kind] !== present.digests[kind]);
}
