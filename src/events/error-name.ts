/** What may be logged of a driver's error: its code or its name. Messages could repeat parts of a connection string. */
export function errorName(error: unknown): string {
  if (error instanceof Error) {
    return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  }
  return 'unknown error';
}
