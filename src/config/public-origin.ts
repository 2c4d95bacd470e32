import type { AppConfig } from './app-config.js';

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Is this a loopback host, with brackets around an IPv6 address? */
export function isLoopback({ hostname }: Pick<URL, 'hostname'>): boolean {
  return LOOPBACK_NAMES.has(hostname);
}

/**
 * The origin under which a caller reaches the service. OAuth clients compare addresses letter by letter, so a service with a
 * loopback base URL names itself as the request did: `localhost`, `127.0.0.1` or `[::1]`.
 * @param host the request's `Host` header
 */
export function publicOriginOf({ baseUrl }: AppConfig, host: string | undefined): string {
  if (host === undefined || baseUrl.endsWith(`//${host}`)) return baseUrl;
  const [own, requested] = [new URL(baseUrl), URL.parse(`http://${host}`)];
  if (requested === null || !isLoopback(own) || !isLoopback(requested) || requested.port !== own.port) return baseUrl;
  return `${own.protocol}//${requested.host}`;
}
