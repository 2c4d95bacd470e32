import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { type AnswerRoom, AnswerRooms } from '../../core/answers/answer-room.js';
import { DomainError } from '../../core/domain-error.js';
import { isRecord } from '../../core/is-record.js';
import { TtlCache } from '../../core/ttl-cache.js';
import type { Connection } from '../../connections/connection.js';
import { FanOutReport } from '../../upstreams/fan-out-report.js';
import { ListChangeFeed } from '../../upstreams/catalog/list-change-feed.js';
import { UpstreamError, UpstreamMisbehaviour } from '../../upstreams/contract/upstream-error.js';
import { UpstreamRequests } from '../../upstreams/upstream-requests.js';
import type { OfferKind } from './composition.js';

/** An upstream's lists other than tools, by method, and the member of the result that contains them. */
const LISTED_IN = {
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
} as const;
export type OfferList = keyof typeof LISTED_IN;

/** A prompt, a resource or a template, as the upstream sent it. */
export type Offer = Readonly<Record<string, unknown>>;

/** What a connection lists, or why listing failed, in a sentence. */
type Offers =
  | { readonly offers: readonly Offer[]; readonly fault?: undefined }
  | { readonly offers?: undefined; readonly fault: string };

const DEADLINE_MS = 10_000;
const VALID_MS = 30_000;
const MAX_PAGES = 100;
/** The limits of one list and of all cached lists, in UTF-16 code units of JSON text. */
const MAX_LIST_SIZE = 4 * 1024 * 1024;
const MAX_SIZE = 32 * 1024 * 1024;
const MAX_ENTRIES = 2_000;
const MAX_GENERATIONS = 10_000;
const METHOD_NOT_FOUND = -32601;

/** One list, and the size of its JSON text. */
interface SizedOffers {
  readonly offers: readonly Offer[];
  readonly size: number;
}

/** Caches the lists of upstreams other than tools for a short time. Concurrent reads of a list share one request. */
@Injectable()
export class OfferLists {
  /** By method, connection, its revision and the account. */
  private readonly lists = new TtlCache<SizedOffers>({
    ttlMs: VALID_MS,
    maxEntries: MAX_ENTRIES,
    weight: { max: MAX_SIZE, of: ({ size }) => size },
  });
  /**
   * The numbers that `generationOf` returns, by kind and connection. No number is used twice: a list whose number was
   * evicted gets a new one and so counts as changed.
   */
  private readonly generations = new LRUCache<string, number>({ max: MAX_GENERATIONS });
  private lastGeneration = 0;
  private readonly listeners = new Set<(connectionId: string) => void>();

  constructor(
    private readonly upstreams: UpstreamRequests,
    private readonly report: FanOutReport,
    private readonly rooms: AnswerRooms,
    feed: ListChangeFeed,
  ) {
    feed.onChange((connectionId, kind) => {
      if (kind !== 'tools') this.forget(connectionId, kind);
    });
  }

  /** An upstream that does not support the list has an empty one. */
  async offersOf(connection: Connection, method: OfferList): Promise<Offers> {
    try {
      const key = `${method} ${connection.id}@${connection.revision} ${connection.accountUserId ?? ''}`;
      const { offers } = await this.lists.get(key, () =>
        this.rooms.withOwnRoom(connection.organizationId, (room) => this.read(connection, method, room)),
      );
      return { offers };
    } catch (error) {
      const misbehaved = error instanceof UpstreamMisbehaviour;
      if (!misbehaved && !(error instanceof UpstreamError) && !(error instanceof DomainError)) throw error;
      this.report.failed(connection.id, error);
      return { fault: misbehaved ? `The upstream ${error.message}.` : error.message };
    }
  }

  /** Reports every connection that has new lists. Returns a function that unsubscribes. */
  onChange(listener: (connectionId: string) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Differs from its earlier value when the connection's lists of this kind have changed. */
  generationOf(connectionId: string, kind: OfferKind): number {
    const key = `${kind} ${connectionId}`;
    return this.generations.get(key) ?? this.newGeneration(key);
  }

  private forget(connectionId: string, kind: OfferKind): void {
    this.lists.forgetWhere((key) => key.startsWith(`${kind}/`) && key.includes(` ${connectionId}@`));
    this.newGeneration(`${kind} ${connectionId}`);
    for (const listener of this.listeners) listener(connectionId);
  }

  private newGeneration(key: string): number {
    this.generations.set(key, ++this.lastGeneration);
    return this.lastGeneration;
  }

  private async read(connection: Connection, method: OfferList, room: AnswerRoom): Promise<SizedOffers> {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const offers: Offer[] = [];
    let size = 0;
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const result = await this.upstreams
        .sendRequest(connection, method, params, { signal, room })
        .catch(emptyIfUnknown);
      const listed = (result as Record<string, unknown>)[LISTED_IN[method]] ?? [];
      if (!Array.isArray(listed)) throw new UpstreamMisbehaviour(`sent an invalid response to ${method}`);
      size += JSON.stringify(listed).length;
      if (size > MAX_LIST_SIZE) throw new UpstreamMisbehaviour(`lists more than 4 MiB (${method})`);
      offers.push(...listed.filter(isRecord));
      const { nextCursor } = result as { nextCursor?: unknown };
      if (typeof nextCursor !== 'string' || nextCursor === cursor) return { offers, size };
      cursor = nextCursor;
    }
    throw new UpstreamMisbehaviour(`has more than ${MAX_PAGES} pages of ${method}`);
  }
}

function emptyIfUnknown(error: unknown): object {
  if (error instanceof UpstreamError && error.rpc?.code === METHOD_NOT_FOUND) return {};
  throw error;
}
