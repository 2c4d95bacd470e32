export default async function globalTeardown(): Promise<void> {
  await (globalThis as { stopTestServices?: () => Promise<void> }).stopTestServices?.();
}
