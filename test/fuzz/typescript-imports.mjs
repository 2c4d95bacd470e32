/**
 * Lets Node run the TypeScript here as it is: a relative import of a `.js` file of ours names the `.ts` file beside it.
 */
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, nextResolve) => {
    if (!specifier.startsWith('.') || !context.parentURL?.endsWith('.ts')) return nextResolve(specifier, context);
    const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
    return existsSync(source) ? { url: source.href, shortCircuit: true } : nextResolve(specifier, context);
  },
});
