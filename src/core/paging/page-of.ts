import { IsBoolean, IsInt, IsString } from 'class-validator';
import type { InputClass } from '../validation/validate-input.js';
import { Nested, NestedList } from '../validation/nested.js';
import { MayBeNull } from '../validation/presence.js';

/** The output of a GET, CREATE, UPDATE or DELETE tool. */
export interface ItemOutput<T> {
  item: T;
}

/** The output of a LIST tool. */
export interface PageOutput<T> {
  items: T[];
  totalCount: number;
  hasMore: boolean;
  nextCursor: string | null;
}

/**
 * A class that describes `{item}`, to be extended under a name of its own:
 * `class ThreadOutput extends ItemOf(ThreadItem) {}`.
 */
export function ItemOf<T extends object>(type: InputClass<T>): InputClass<ItemOutput<T>> {
  class Item implements ItemOutput<T> {
    @Nested(() => type)
    item: T;
  }
  return Item;
}

/** A class that describes one page of a list, to be extended under a name of its own. */
export function PageOf<T extends object>(type: InputClass<T>): InputClass<PageOutput<T>> {
  class Page implements PageOutput<T> {
    @NestedList(() => type)
    items: T[];

    @IsInt()
    totalCount: number;

    @IsBoolean()
    hasMore: boolean;

    @MayBeNull()
    @IsString()
    nextCursor: string | null;
  }
  return Page;
}
