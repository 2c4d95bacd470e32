import { Injectable } from '@nestjs/common';
import { DomainError } from '../../common/domain-error.js';
import type { Connection } from '../../connections/connection.js';
import { FanOutReport } from '../../upstreams/fan-out-report.js';
import { ListChangeFeed } from '../../upstreams/catalog/list-change-feed.js';
import { UpstreamError, UpstreamMisbehaviour } from '../../upstreams/contract/upstream-error.js';
import { UpstreamRequests } from '../../upstreams/upstream-requests.js';
import type { OfferKind } from './composition.js';

/** The lists of an upstream beside its tools, by method, and the member of the result that holds them. */
const LISTED_IN = {
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
} as const;
export type OfferList = keyof typeof LISTED_IN;

/** A prompt, a resource or a template, as the upstream sent it. */
export type Offer = Readonly<Record<string, unknown>>;

/** What a connection lists, or why it does not, in a sentence. */
export type Offers =
  | { readonly offers: readonly Offer[]; readonly fault?: undefined }
  | { readonly offers?: undefined; readonly fault: string };

const DEADLINE_MS = 10_000;
const BELIEVED_MS = 30_000;
const MAX_PAGES = 100;
/** One list as JSON text, in UTF-16 code units; and all that are kept. */
const MAX_LIST_SIZE = 4 * 1024 * 1024;
const MAX_SIZE = 32 * 1024 * 1024;
const MAX_ENTRIES = 2_000;
const METHOD_NOT_FOUND = -32601;

interface Entry {
  readonly at: number;
  readonly list: Promise<{ offers: readonly Offer[]; size: number }>;
  size: number;
}

/** What upstreams list beside their tools, kept for a short while; lists of many callers at once are read once. */
@Injectable()
export class OfferLists {
  /** In the order of reading. */
  private readonly entries = new Map<string, Entry>();
  private size = 0;
  /** How often an upstream has said that its lists of this kind are other ones by now, by kind and connection. */
  private readonly changes = new Map<string, number>();
  private readonly listeners = new Set<(connectionId: string) => void>();

  constructor(
    private readonly upstreams: UpstreamRequests,
    private readonly report: FanOutReport,
    feed: ListChangeFeed,
  ) {
    feed.onChange((connectionId, kind) => {
      if (kind !== 'tools') this.forget(connectionId, kind);
    });
  }

  /** An upstream that does not know the list has an empty one. */
  async of(connection: Connection, method: OfferList): Promise<Offers> {
    try {
      const { offers } = await this.entryFor(connection, method).list;
      return { offers };
    } catch (error) {
      const misbehaved = error instanceof UpstreamMisbehaviour;
      if (!misbehaved && !(error instanceof UpstreamError) && !(error instanceof DomainError)) throw error;
      this.report.failed(connection.id, error);
      return { fault: misbehaved ? `The upstream ${error.message}.` : error.message };
    }
  }

  /** Tells of every connection that has new lists. Returns how to stop it. */
  onChange(listener: (connectionId: string) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Differs from what it was when the connection's lists of this kind have changed. */
  generationOf(connectionId: string, kind: OfferKind): number {
    return this.changes.get(`${kind} ${connectionId}`) ?? 0;
  }

  private forget(connectionId: string, kind: OfferKind): void {
    const lists = `${kind}/`;
    for (const key of this.entries.keys()) {
      if (key.startsWith(lists) && key.includes(` ${connectionId}@`)) this.drop(key);
    }
    const key = `${kind} ${connectionId}`;
    const generation = this.generationOf(connectionId, kind) + 1;
    if (this.changes.size >= MAX_ENTRIES && !this.changes.has(key)) this.changes.clear();
    this.changes.set(key, generation);
    for (const listener of this.listeners) listener(connectionId);
  }

  private entryFor(connection: Connection, method: OfferList): Entry {
    const key = `${method} ${connection.id}@${connection.revision}`;
    const known = this.entries.get(key);
    if (known !== undefined && Date.now() - known.at < BELIEVED_MS) return known;
    const entry: Entry = { at: Date.now(), list: this.read(connection, method), size: 0 };
    this.drop(key);
    this.entries.set(key, entry);
    entry.list.then(
      ({ size }) => this.keep(key, entry, size),
      () => this.entries.get(key) === entry && this.drop(key),
    );
    return entry;
  }

  private async read(connection: Connection, method: OfferList): Promise<{ offers: Offer[]; size: number }> {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const offers: Offer[] = [];
    let size = 0;
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const result = await this.upstreams.send(connection, method, params, { signal }).catch(emptyIfUnknown);
      const listed = (result as Record<string, unknown>)[LISTED_IN[method]] ?? [];
      if (!Array.isArray(listed)) throw new UpstreamMisbehaviour(`answers ${method} with something else`);
      size += JSON.stringify(listed).length;
      if (size > MAX_LIST_SIZE) throw new UpstreamMisbehaviour(`lists more than fits into 4 MiB (${method})`);
      offers.push(...listed.filter(isOffer));
      const { nextCursor } = result as { nextCursor?: unknown };
      if (typeof nextCursor !== 'string' || nextCursor === cursor) return { offers, size };
      cursor = nextCursor;
    }
    throw new UpstreamMisbehaviour(`has more than ${MAX_PAGES} pages of ${method}`);
  }

  private keep(key: string, entry: Entry, size: number): void {
    if (this.entries.get(key) !== entry) return;
    entry.size = size;
    this.size += size;
    for (const oldest of this.entries.keys()) {
      if ((this.size <= MAX_SIZE && this.entries.size <= MAX_ENTRIES) || oldest === key) return;
      this.drop(oldest);
    }
  }

  private drop(key: string): void {
    this.size -= this.entries.get(key)?.size ?? 0;
    this.entries.delete(key);
  }
}

function emptyIfUnknown(error: unknown): object {
  if (error instanceof UpstreamError && error.rpc?.code === METHOD_NOT_FOUND) return {};
  throw error;
}

function isOffer(value: unknown): value is Offer {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
