/**
 * The items in the order of a round. Each round begins with another one, since what one leaves behind (dirty pages,
 * autovacuum) slows down the next.
 */
export function turnsOf(round, items) {
  const first = round % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
