/** The JSON Pointer (RFC 6901) of a member, by the names on the way to it. */
export function pointerTo(names: readonly string[]): string {
  return names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** The names of a JSON Pointer. */
export function namesIn(pointer: string): string[] {
  const names = pointer.split('/').slice(1);
  return names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
}
