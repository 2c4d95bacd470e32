/** Longer names are not compared: the comparison takes time in proportion to the product of both lengths. */
const MAX_LENGTH = 128;
/** How many candidates of a similar length are compared, so that a mistake costs no more than a few milliseconds. */
const MAX_COMPARED = 500;

/**
 * The candidate that a mistyped name most likely means: at most a third of its characters, and at most 3, were
 * inserted, left out, replaced or swapped with their neighbour. Case counts for nothing. Undefined if no candidate is
 * that close.
 */
export function closestName(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  const wanted = name.toLowerCase();
  let closest: string | undefined;
  let compared = 0;
  let limit = Math.min(3, Math.floor(name.length / 3)) + 1;
  for (const candidate of candidates) {
    if (candidate.length > MAX_LENGTH || Math.abs(candidate.length - name.length) >= limit) continue;
    if (++compared > MAX_COMPARED) break;
    const distance = distanceBetween(wanted, candidate.toLowerCase());
    if (distance >= limit) continue;
    closest = candidate;
    limit = distance;
  }
  return closest;
}

/** ` Did you mean X?` for the end of an error's sentence; empty without a candidate that is close. */
export function suggestionFor(name: string, candidates: Iterable<string>): string {
  const closest = closestName(name, candidates);
  return closest === undefined ? '' : ` Did you mean ${closest}?`;
}

/** The optimal string alignment distance. */
function distanceBetween(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? at(beforeLast, j - 2) + 1 : Infinity;
      row.push(Math.min(replaced, swapped, at(last, j) + 1, at(row, j - 1) + 1));
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}
