/** The open maps of input classes, by the prototype of the class. */
const openMaps = new WeakMap<object, Set<string>>();
const NONE: ReadonlySet<string> = new Set();

/**
 * Takes the property as it was parsed: a map whose names callers choose, which can also be those that every object
 * inherits, such as `toString`. Only for properties of the body itself; what reads the map must use own properties
 * only.
 */
export function OpenMap(): PropertyDecorator {
  return (target, property) => {
    const names = openMaps.get(target) ?? new Set();
    openMaps.set(target, names.add(String(property)));
  };
}

/** The names of the open maps of an input class. */
export function openMapsOf(type: new () => object): ReadonlySet<string> {
  return openMaps.get(type.prototype as object) ?? NONE;
}
