const MOST_SLOW = 5;

/** Counts what was answered, by kind of request. */
export class Tally {
  #slowest: readonly { ms: number; request: string }[] = [];
  #requests = 0;
  #longestMs = 0;
  readonly #outcomes = new Map<string, Map<string, number>>();

  get requests(): number {
    return this.#requests;
  }

  get longestMs(): number {
    return this.#longestMs;
  }

  add(label: string, outcome: number | string, ms = 0, code?: string): void {
    this.#requests += 1;
    this.#longestMs = Math.max(this.#longestMs, ms);
    const outcomes = this.#outcomes.get(label) ?? new Map<string, number>();
    this.#outcomes.set(label, outcomes);
    const name = code === undefined ? String(outcome) : `${outcome} ${code}`;
    outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
  }

  /** Remembers the request if it is one of the slowest. */
  took(ms: number, request: () => string): void {
    if (ms <= (this.#slowest[MOST_SLOW - 1]?.ms ?? 0)) return;
    this.#slowest = [...this.#slowest, { ms, request: request() }].toSorted((a, b) => b.ms - a.ms).slice(0, MOST_SLOW);
  }

  slowest(): string {
    return this.#slowest.map(({ ms, request }) => `${Math.round(ms)} ms: ${request}`).join('\n');
  }

  /** One line for each kind of request: how often each status was answered. */
  table(): string {
    const rows = [...this.#outcomes].map(([label, outcomes]) => [label, byStatus(outcomes)] as const);
    const statuses = [...new Set(rows.flatMap(([, counts]) => [...counts.keys()]))].sort();
    const lines = rows
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([label, counts]) => [label, ...statuses.map((status) => String(counts.get(status) ?? ''))]);
    return aligned([['request', ...statuses], ...lines]);
  }

  /** How often each code was answered. */
  codes(): string {
    const counts = new Map<string, number>();
    for (const outcomes of this.#outcomes.values()) {
      for (const [name, count] of outcomes) counts.set(name, (counts.get(name) ?? 0) + count);
    }
    return [...counts]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([name, count]) => `${name}: ${count}`)
      .join(', ');
  }
}

function byStatus(outcomes: ReadonlyMap<string, number>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [name, count] of outcomes) {
    const [status = ''] = name.split(' ');
    counts.set(status, (counts.get(status) ?? 0) + count);
  }
  return counts;
}

function aligned(rows: string[][]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  '),
    )
    .join('\n');
}
