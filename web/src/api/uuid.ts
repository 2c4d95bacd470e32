/** Whether the text is an id as the service makes them. */
export function isUuid(text: unknown): text is string {
  return typeof text === 'string' && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/** When a UUID of version 7 was made (RFC 9562 §5.7); undefined for other versions. */
export function timeOfUuid(id: string): number | undefined {
  return id[14] === '7' ? Number.parseInt(id.replace('-', '').slice(0, 12), 16) : undefined;
}
