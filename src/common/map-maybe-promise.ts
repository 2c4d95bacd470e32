/** Applies the function to the value: at once unless it is a promise. Returns a promise only where one had to be awaited. */
export function mapMaybePromise<T, R>(value: T | Promise<T>, goOn: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}
