import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vite';

/** The service that `npx vite web` passes requests to while somebody works on the console. */
const SERVICE = 'http://127.0.0.1:3000';

/** The build that the service serves at `/console`; `scripts/build.mjs` says where it goes. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [tailwindcss()],
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    // All current browsers know modulepreload; the polyfill would be an inline script.
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The renderer of Markdown is one library, loaded with the first view that shows messages.
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      onLog: (level, log, print) => {
        // The libraries mark client components for frameworks that render on a server.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') print(level, log);
      },
    },
  },
  server: {
    proxy: {
      '/api': SERVICE,
      '/auth': SERVICE,
      '/pages': SERVICE,
      '/console/session': SERVICE,
    },
  },
});
