/**
 * The address policy refuses a connection to an upstream. The message addresses the caller. It names the host as the
 * caller wrote it and the kind of address, never the address that a name resolved to.
 */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
}
