/** A shallow copy without the fields that are undefined, as JSON would have it. */
export function withoutUndefined<T extends object>(value: T): T {
  const copy = { ...value };
  for (const key in copy) if (copy[key] === undefined) delete copy[key];
  return copy;
}
