import { isLoopback } from '../../core/loopback.js';

/** The API of an organization, or an MCP endpoint. */
const RESOURCE = /^\/api\/[^/]+(?:\/mcp\/(?:gateway\/)?[^/]+)?$|^\/mcp\/[^/]+$/;

/**
 * The path of the resource of this service that an audience names, in lower case and without a trailing slash;
 * undefined for any other text. A service on loopback has several names for itself.
 */
export function resourcePathOf(audience: string, baseUrl: string): string | undefined {
  const url = URL.parse(audience);
  if (url === null || url.search !== '' || url.hash !== '') return undefined;
  const own = new URL(baseUrl);
  const isOwn = url.origin === own.origin || (isLoopback(url) && isLoopback(own) && url.port === own.port);
  const path = url.pathname.replace(/\/$/, '').toLowerCase();
  return isOwn && RESOURCE.test(path) ? path : undefined;
}
