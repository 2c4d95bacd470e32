import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Composition, ToolPlace } from '../composition/composition.js';
import type { ToolQuery } from './search-tools.js';
import { ToolIndex } from './tool-index.js';

/** Limits the distinct words of all cached indexes together; each takes about a kilobyte. */
const MAX_TERMS = 200_000;
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
    composition: Composition,
    { query, limit }: ToolQuery,
    isPermitted: (place: ToolPlace) => boolean,
  ): Promise<ToolPlace[]> {
    const { places } = composition;
    const index = await this.indexOf(composition);
    const placeOf = (name: string): ToolPlace[] => {
      const place = places.get(name);
      return place !== undefined && isPermitted(place) ? [place] : [];
    };
    const names = await index.find(query, limit, (name) => placeOf(name).length > 0);
    return names.flatMap(placeOf);
  }

  private async indexOf(composition: Composition): Promise<ToolIndex> {
    const key = this.keys.get(composition) ?? {};
    this.keys.set(composition, key);
    const known = this.indexes.get(key);
    if (known !== undefined) return known;
    let making = this.indexing.get(composition);
    if (making === undefined) {
      making = ToolIndex.of(composition.places.values());
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
