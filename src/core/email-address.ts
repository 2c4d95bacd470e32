/** The characters outside ASCII that have an ASCII letter as their lower case: İ, and the sign for kelvin. */
const FOLDED_TO_ASCII = /[\u0130\u212A]/;

/**
 * True if this is the address of a mailbox of its own that the database, which ignores the case of addresses, would
 * take for that of somebody else. An issuer that vouches for such an address vouches for another person.
 */
export function isMistakable(email: string): boolean {
  return FOLDED_TO_ASCII.test(email);
}
