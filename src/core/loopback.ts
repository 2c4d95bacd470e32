const LOOPBACK = /^(?:(?:[\w-]+\.)*localhost|127(?:\.\d+){3}|\[::1\])$/;

/** True if the host names the machine itself: `localhost`, a name below it, an address of 127.0.0.0/8, or `[::1]`. */
export function isLoopback({ hostname }: Pick<URL, 'hostname'>): boolean {
  return LOOPBACK.test(hostname);
}
