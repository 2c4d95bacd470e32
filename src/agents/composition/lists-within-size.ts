import type { Connection } from '../../connections/connection.js';
import type { MemberList } from './member-lists.js';

/**
 * Provides the tools of a connection.
 * @param isRepeated true if they were provided before, but not kept (`listsWithinSize`)
 */
export type ListOf = (connection: Connection, isRepeated: boolean) => Promise<MemberList>;

/** A list that was provided; without the list itself if there was no space to keep it until its turn. */
interface Provided {
  readonly size: number;
  readonly list?: MemberList;
}

/**
 * The lists that fit, in the order of the connections; a list that does not fit is replaced by a fault. All lists are
 * requested at once. Those that arrive before their turn are kept up to the same size, so that at most twice that size
 * is held. A list that was not kept is requested again if it fits when its turn comes.
 * @param maxSize of all lists together (`ToolList.size`)
 * @param tooLarge the fault of a connection whose list does not fit
 */
export async function listsWithinSize(
  connections: readonly Connection[],
  listOf: ListOf,
  { maxSize, tooLarge }: { readonly maxSize: number; readonly tooLarge: string },
): Promise<Map<string, MemberList>> {
  let held = 0;
  const request = async (connection: Connection): Promise<Provided> => {
    const list = await listOf(connection, false);
    const size = sizeOf(list);
    if (held + size > maxSize) return { size };
    held += size;
    return { size, list };
  };
  const requested = new Map(connections.map((connection) => [connection, request(connection)]));
  // One that is not awaited yet can reject first.
  for (const providing of requested.values()) providing.catch(() => undefined);

  let taken = 0;
  const lists = new Map<string, MemberList>();
  for (const [connection, providing] of requested) {
    const { size, list: kept } = await providing;
    requested.delete(connection);
    const list = kept ?? (taken + size <= maxSize ? await listOf(connection, true) : undefined);
    const fits = list !== undefined && taken + sizeOf(list) <= maxSize;
    lists.set(connection.id, fits ? list : { fault: tooLarge });
    if (fits) taken += sizeOf(list);
    if (kept !== undefined && !fits) held -= size;
    if (kept === undefined && fits) held += sizeOf(list);
  }
  return lists;
}

function sizeOf({ list }: MemberList): number {
  return list?.size ?? 0;
}
