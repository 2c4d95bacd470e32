/** Dots between letters, in any width, which make a name look like an address to programs that display it. */
const DOT = /(?<=[\p{L}\p{N}])[.．。｡](?=[\p{L}\p{N}])/gu;
const CONTROL = /\p{C}+/gu;

/**
 * A name that somebody chose, for texts that others receive: on one line, and without what programs turn into links.
 * Addresses in it are written as reports write those of attackers: `evil[.]example`.
 */
export function inertName(name: string): string {
  return name.replace(CONTROL, ' ').replaceAll('://', '[:]//').replace(DOT, '[.]').replaceAll('@', '[at]');
}
