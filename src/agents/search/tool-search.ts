import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import MiniSearch from 'minisearch';
import type { Composition, ToolPlace } from '../composition/composition.js';
import type { ToolQuery } from './search-tools.js';
import { isRecord } from '../../core/is-record.js';
import { TimeSlices } from '../../core/time-slices.js';

/** Of the distinct words of an index. Tools that come after them are found by their names only. */
const MAX_TERMS_PER_INDEX = 100_000;

/** An index that was not used for this long belongs to a composition that may be gone. */
const UNUSED_MS = 10 * 60_000;

/** Searches the tools of agents. The index of a composition is built with its first search. */
@Injectable()
export class ToolSearch {
  private readonly indexes = new LRUCache<object, ToolIndex>({
    maxSize: MAX_TERMS,
    sizeCalculation: ({ terms }) => terms + 1,
    ttl: UNUSED_MS,
    updateAgeOnGet: true,
  });
  /** The keys of the indexes: an index must not keep the composition, which can take much more memory. */
  private readonly keys = new WeakMap<Composition, object>();
  /** Searches that come meanwhile share the indexing. */
  private readonly indexing = new WeakMap<Composition, Promise<ToolIndex>>();

  /** The best tools among those that are permitted, best first. */
  async findTools(
    organizationId: string,
    composition: Composition,
    { query, limit }: ToolQuery,
    isPermitted: (place: ToolPlace) => boolean,
  ): Promise<ToolPlace[]> {
    const { places } = composition;
    const index = await this.indexOf(composition, organizationId);
    const placeOf = (name: string): ToolPlace[] => {
      const place = places.get(name);
      return place !== undefined && isPermitted(place) ? [place] : [];
    };
    const names = await index.find(query, limit, (name) => placeOf(name).length > 0, new TimeSlices(organizationId));
    return names.flatMap(placeOf);
  }

  private async indexOf(composition: Composition, organizationId: string): Promise<ToolIndex> {
    const key = this.keys.get(composition) ?? {};
    this.keys.set(composition, key);
    const known = this.indexes.get(key);
    if (known !== undefined) return known;
    let making = this.indexing.get(composition);
    if (making === undefined) {
      making = ToolIndex.of(composition.places.values(), new TimeSlices(organizationId));
      this.indexing.set(composition, making);
    }
    try {
      const index = await making;
      this.indexes.set(key, index);
      return index;
    } finally {
      this.indexing.delete(composition);
    }
  }
}

/** How much of each text of a tool is looked at, in characters. */
const MAX_TEXT_LENGTH = 2_000;
/** The words of a tool that are searched. Upstreams choose them, and each distinct one costs about a kilobyte. */
const MAX_NAME_WORDS = 16;
const MAX_WORDS = 100;

const MAX_TERM_LENGTH = 32;
/** Of a query: each costs a look at all words of the index. */
const MAX_QUERY_TERMS = 12;
/** Shorter words begin too many others. */
const MIN_PREFIX_LENGTH = 4;
/** Words of these lengths are found despite one wrong letter. The time that takes grows with the length. */
const FUZZY_LENGTHS = { min: 5, max: 20 };

/** Words of almost every description: they would make every tool a candidate and decide nothing. */
const COMMON_WORDS = new Set(
  'a an and are as at be by can for from if in is it its of on or that the their this to with you your'.split(' '),
);

const FIELDS = ['name', 'title', 'arguments', 'description'] as const;
type IndexedTool = Record<(typeof FIELDS)[number], string> & { readonly id: string };

/** A search over this much is short enough to run at once. */
const SHARD = { terms: 5_000, tools: 1_000 };
/** The words are counted once for as many tools: MiniSearch walks through all words of a shard to count them. */
const TOOLS_PER_COUNT = 16;

/** Finds tools of one composition by words, ranked by BM25. Lets other work run between its shards. */
export class ToolIndex {
  private readonly shards: MiniSearch<IndexedTool>[] = [];
  private hasRoom = true;

  private constructor() {}

  /** Lets other work run between slices of the indexing. */
  static async of(places: Iterable<ToolPlace>, slices: TimeSlices): Promise<ToolIndex> {
    const index = new ToolIndex();
    for (const place of places) {
      index.add(place);
      if (slices.isOver) await slices.next();
    }
    return index;
  }

  /** The number of distinct words, which take most of its memory. */
  get terms(): number {
    return this.shards.reduce((sum, { termCount }) => sum + termCount, 0);
  }

  /** The names of the best tools among those that are permitted, best first. */
  async find(
    query: string,
    limit: number,
    isPermitted: (name: string) => boolean,
    slices: TimeSlices,
  ): Promise<string[]> {
    const found: { id: unknown; score: number }[] = [];
    for (const shard of this.shards) {
      found.push(...shard.search(query, { filter: ({ id }) => isPermitted(String(id)) }).slice(0, limit));
      if (slices.isOver) await slices.next();
    }
    return found
      .toSorted((a, b) => b.score - a.score)
      .slice(0, limit)
      .map(({ id }) => String(id));
  }

  private add(place: ToolPlace): void {
    let shard = this.shards.at(-1);
    if (shard === undefined || shard.documentCount % TOOLS_PER_COUNT === 0) {
      const isFull = shard !== undefined && (shard.termCount >= SHARD.terms || shard.documentCount >= SHARD.tools);
      this.hasRoom = this.terms < MAX_TERMS_PER_INDEX;
      if (shard === undefined || isFull) this.shards.push((shard = newShard()));
    }
    shard.add(toIndexed(place, this.hasRoom ? MAX_WORDS : 0));
  }
}

function newShard(): MiniSearch<IndexedTool> {
  return new MiniSearch<IndexedTool>({
    fields: [...FIELDS],
    tokenize: (text) => text.split(' '),
    processTerm: (term) => term,
    searchOptions: {
      boost: { name: 3, title: 2 },
      prefix: (term) => term.length >= MIN_PREFIX_LENGTH,
      fuzzy: ({ length }) => (length >= FUZZY_LENGTHS.min && length <= FUZZY_LENGTHS.max ? 1 : false),
      tokenize: (query) => [...new Set(termsOf(query))].slice(0, MAX_QUERY_TERMS),
    },
  });
}

/** The words of each field, separated by spaces. @param maxWords of all fields but the name */
function toIndexed({ name, tool }: ToolPlace, maxWords: number): IndexedTool {
  const { title, description, inputSchema } = tool?.definition ?? {};
  const properties = isRecord(inputSchema?.properties) ? Object.keys(inputSchema.properties).join(' ') : '';
  let left = maxWords;
  const wordsOf = (text: unknown): string => {
    const words = left === 0 || typeof text !== 'string' ? [] : termsOf(text.slice(0, MAX_TEXT_LENGTH)).slice(0, left);
    left -= words.length;
    return words.join(' ');
  };
  return {
    id: name,
    name: termsOf(name).slice(0, MAX_NAME_WORDS).join(' '),
    title: wordsOf(title),
    arguments: wordsOf(properties),
    description: wordsOf(description),
  };
}

/** The words that are searched of a text, or of a name such as `create_issue`, `createIssue` or `create-issue`. */
function termsOf(text: string): string[] {
  return text
    .replaceAll(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, ' ')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && word.length <= MAX_TERM_LENGTH)
    .map((word) => word.toLowerCase())
    .filter((word) => !COMMON_WORDS.has(word));
}

/** Limits the distinct words of all cached indexes together; each takes about a kilobyte. */
const MAX_TERMS = 200_000;
