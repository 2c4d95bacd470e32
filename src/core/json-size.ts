/** Size limits of a JSON value. */
export interface JsonLimits {
  /** Values of any kind; each member of a list or an object counts as one. */
  nodes: number;
  /** Nesting depth of lists and objects. */
  depth: number;
  /** UTF-16 code units of all texts and member names together. */
  characters: number;
}

/**
 * The first limit that a JSON value exceeds, or undefined. It stops there, so that its cost is bounded by the limits,
 * however large the value is.
 */
export function exceededLimit(value: unknown, limits: JsonLimits): keyof JsonLimits | undefined {
  let { nodes, characters } = limits;

  const visit = (value: unknown, depth: number): keyof JsonLimits | undefined => {
    if (--nodes < 0) return 'nodes';
    if (typeof value === 'string') {
      characters -= value.length;
      return characters < 0 ? 'characters' : undefined;
    }
    if (typeof value !== 'object' || value === null) return undefined;
    if (depth === 0) return 'depth';
    if (Array.isArray(value)) {
      for (const item of value) {
        const exceeded = visit(item, depth - 1);
        if (exceeded !== undefined) return exceeded;
      }
      return undefined;
    }
    for (const name in value) {
      characters -= name.length;
      if (characters < 0) return 'characters';
      const exceeded = visit((value as Record<string, unknown>)[name], depth - 1);
      if (exceeded !== undefined) return exceeded;
    }
    return undefined;
  };

  return visit(value, limits.depth);
}
