/** Whether the text is an id as the service makes them. */
export function isUuid(text: string | undefined): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text ?? '');
}
