/** The JSON text of a value with the keys of all objects in order: equal for equal values. */
export function textInOrder(value: unknown): string {
  return JSON.stringify(value, inOrder);
}

function inOrder(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
