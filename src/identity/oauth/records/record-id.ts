import { hash } from 'node:crypto';

/**
 * The id under which a value of the authorization server is stored: the first 128 bits of a SHA-256 hash in the form of
 * a UUID (version 8, RFC 9562 §5.8). The values are random, so their ids reveal nothing about them. Both models of
 * access tokens share their ids, because the value of a token does not say which of them it is.
 * @param model of oidc-provider, such as `AccessToken`
 */
export function recordId(model: string, value: string): string {
  const hex = hash('sha256', `${model === 'ClientCredentials' ? 'AccessToken' : model}:${value}`);
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
