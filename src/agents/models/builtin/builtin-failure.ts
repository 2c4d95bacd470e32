/** The failure that a message requests from the built-in model. Its text is the user's own. */
export class BuiltinFailure extends Error {
  override readonly name = 'BuiltinFailure';
}
