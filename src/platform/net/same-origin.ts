/** Whether two absolute URLs have the same scheme, host and port (RFC 6454 §5). */
export function isSameOrigin(one: string, other: string): boolean {
  return new URL(one).origin === new URL(other).origin;
}
