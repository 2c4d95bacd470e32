/**
 * The address policy does not let this service reach an upstream. The message is a sentence for the caller; it names the
 * host as the caller wrote it and the kind of address, never the address that a name resolved to.
 */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
}
