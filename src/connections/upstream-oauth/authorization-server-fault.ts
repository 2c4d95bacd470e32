/** Why an authorization server, or an upstream's metadata, cannot be used. The message is a sentence for people. */
export class AuthorizationServerFault extends Error {
  override readonly name = 'AuthorizationServerFault';
}
