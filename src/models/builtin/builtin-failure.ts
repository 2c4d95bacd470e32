/** What the built-in model fails with when a message tells it to. Its message is the user's own. */
export class BuiltinFailure extends Error {
  override readonly name = 'BuiltinFailure';
}
