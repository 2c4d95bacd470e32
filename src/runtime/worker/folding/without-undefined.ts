/** Returns a shallow copy without undefined fields, as in JSON. */
export function withoutUndefined<T extends object>(value: T): T {
  const copy = { ...value };
  for (const key in copy) if (copy[key] === undefined) delete copy[key];
  return copy;
}
