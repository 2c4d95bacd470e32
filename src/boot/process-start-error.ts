/** A service process did not start. The message is for the operator. */
export class ProcessStartError extends Error {
  override readonly name = 'ProcessStartError';
}
