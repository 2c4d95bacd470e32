/** How long a caller waits for an upstream that there is another way to, in milliseconds. */
const PATIENCE_MS = 3_000;

/** What the work comes to, or undefined once it has taken too long: it goes on, and nobody waits for it. */
export async function orLate<T>(work: Promise<T>, onLate: () => void): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      onLate();
      resolve(undefined);
    }, PATIENCE_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
