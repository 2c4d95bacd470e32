import MiniSearch from 'minisearch';
import { isRecord } from '../../core/is-record.js';
import { TimeSlices } from '../../core/time-slices.js';
import type { ToolPlace } from '../composition/composition.js';

/** How much of each text of a tool is searched, in characters: a long one must not cost others their memory. */
const MAX_TEXT_LENGTH = 2_000;
const MAX_ARGUMENTS = 100;
const MAX_TERM_LENGTH = 64;
/** Of a query: each costs a look at every tool that has it. */
const MAX_QUERY_TERMS = 20;
/** Shorter words begin too many others. */
const MIN_PREFIX_LENGTH = 3;
/** Words of this length are found despite one wrong letter in five. */
const MIN_FUZZY_LENGTH = 5;
const FUZZINESS = 0.2;

/** Words of almost every description: they would make every tool a candidate and decide nothing. */
const COMMON_WORDS = new Set(
  'a an and are as at be by can for from if in is it its of on or that the their this to with you your'.split(' '),
);

const FIELDS = ['name', 'title', 'description', 'arguments'] as const;
type IndexedTool = Record<(typeof FIELDS)[number], string>;

/** A search over this many tools is short enough to run at once. */
const SHARD_SIZE = 1_000;

/** Finds tools of one composition by words, ranked by BM25. Lets other work run between its shards. */
export class ToolIndex {
  private readonly shards: MiniSearch<IndexedTool>[] = [];

  private constructor() {}

  /** Lets other work run between slices of the indexing. */
  static async of(places: Iterable<ToolPlace>): Promise<ToolIndex> {
    const index = new ToolIndex();
    const slices = new TimeSlices();
    for (const place of places) {
      index.add(place);
      if (slices.isOver) await slices.next();
    }
    return index;
  }

  /** The names of the best tools among those that are permitted, best first. */
  async find(query: string, limit: number, isPermitted: (name: string) => boolean): Promise<string[]> {
    const slices = new TimeSlices();
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
    if (shard === undefined || shard.documentCount >= SHARD_SIZE) this.shards.push((shard = newShard()));
    shard.add(toIndexed(place));
  }
}

function newShard(): MiniSearch<IndexedTool> {
  return new MiniSearch<IndexedTool>({
    idField: 'name',
    fields: [...FIELDS],
    tokenize: wordsOf,
    processTerm: toTerm,
    searchOptions: {
      boost: { name: 3, title: 2 },
      prefix: (term) => term.length >= MIN_PREFIX_LENGTH,
      fuzzy: (term) => (term.length >= MIN_FUZZY_LENGTH ? FUZZINESS : false),
      tokenize: (query) => [...new Set(wordsOf(query))].slice(0, MAX_QUERY_TERMS),
    },
  });
}

function toIndexed({ name, tool }: ToolPlace): IndexedTool {
  const { title = '', description = '', inputSchema } = tool?.definition ?? {};
  const properties = isRecord(inputSchema?.properties) ? Object.keys(inputSchema.properties) : [];
  const texts = { title, description, arguments: properties.slice(0, MAX_ARGUMENTS).join(' ') };
  return {
    name,
    title: texts.title.slice(0, MAX_TEXT_LENGTH),
    description: texts.description.slice(0, MAX_TEXT_LENGTH),
    arguments: texts.arguments.slice(0, MAX_TEXT_LENGTH),
  };
}

/** Null for a word that is not searched. */
function toTerm(word: string): string | null {
  const term = word.slice(0, MAX_TERM_LENGTH).toLowerCase();
  return COMMON_WORDS.has(term) ? null : term;
}

/** Of a text, or of a name such as `create_issue`, `createIssue` or `create-issue`. */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, ' ')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}
