import { isLoopback } from '../loopback.js';
import type { AppConfig } from './app-config.js';

/** Few, because an authorization server is kept for each origin. */
const OWN_LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * The origin under which a caller reaches the service. OAuth clients compare addresses letter by letter, so a service
 * with a loopback base URL names itself as the request did: `localhost`, `127.0.0.1` or `[::1]`.
 * @param host the request's `Host` header
 */
export function publicOriginOf({ baseUrl }: AppConfig, host: string | undefined): string {
  if (host === undefined || baseUrl.endsWith(`//${host}`)) return baseUrl;
  const [own, requested] = [new URL(baseUrl), URL.parse(`http://${host}`)];
  if (requested === null || !OWN_LOOPBACK_NAMES.has(requested.hostname)) return baseUrl;
  if (!isLoopback(own) || requested.port !== own.port) return baseUrl;
  return `${own.protocol}//${requested.host}`;
}
