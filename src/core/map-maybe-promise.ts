/**
 * Applies the function to the value, synchronously unless it is a promise. Returns a promise only if one was awaited.
 */
export function mapMaybePromise<T, R>(value: T | Promise<T>, goOn: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}
