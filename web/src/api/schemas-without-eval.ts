/**
 * Tells Zod, with which the AI SDK checks what it reads, to compile no checks: compiling needs `eval`, which the page's
 * policy forbids, and each try is reported as a violation. Zod reads this from the global object when it is first used.
 */
export function checkWithoutEval(): void {
  const scope = globalThis as { __zod_globalConfig?: { jitless?: boolean } };
  scope.__zod_globalConfig = { ...scope.__zod_globalConfig, jitless: true };
}
