/** Goes on with a value: at once if it is there, else when it is. A promise only then (see `BriefMemory`). */
export function mapMaybePromise<T, R>(value: T | Promise<T>, goOn: (value: T) => R): R | Promise<R> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}
