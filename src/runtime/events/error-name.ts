/** The loggable part of a driver's error: its code or name. Messages could contain parts of a connection string. */
export function errorName(error: unknown): string {
  if (error instanceof Error) {
    return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  }
  return 'unknown error';
}
