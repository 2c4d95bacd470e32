import type { FastifyReply, FastifyRequest } from 'fastify';

interface CookieOptions {
  /** Lifetime in seconds; without it, the cookie ends with the browser session. 0 deletes it. */
  readonly maxAge?: number;
  readonly isSecure: boolean;
}

/** The value of a cookie; undefined if the browser sent none or several with the name. */
export function readCookie({ headers }: FastifyRequest, name: string): string | undefined {
  const values = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
}

export function cookieNamesWith({ headers }: FastifyRequest, prefix: string): string[] {
  const names = (headers.cookie ?? '').split(';').map((pair) => pair.trim().split('=', 1)[0] ?? '');
  return names.filter((name) => name.startsWith(prefix));
}

/**
 * Sets a cookie that no script can read and that no other site's form sends.
 * @param value of characters that need no escaping, such as base64url
 */
export function setCookie(reply: FastifyReply, name: string, value: string, options: CookieOptions): void {
  const attributes = [
    `${name}=${value}`,
    'Path=/',
    'HttpOnly',
    'SameSite=Lax',
    ...(options.isSecure ? ['Secure'] : []),
    ...(options.maxAge === undefined ? [] : [`Max-Age=${options.maxAge}`]),
  ];
  void reply.header('set-cookie', attributes.join('; '));
}
