import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createQueryClient } from './api/queries.js';
import { checkWithoutEval } from './api/schemas-without-eval.js';
import { router } from './router.js';
import { SessionProvider } from './session/session-context.js';
import { startTheme } from './shell/theme.js';
import { ToastProvider } from './ui/toast.js';
import './styles.css';

startTheme();
checkWithoutEval();
// Radix adds a style element while a dialog is open; the Content-Security-Policy knows it by this nonce.
setNonce(document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? '');

const root = document.getElementById('root');
if (root === null) throw new Error('The page has no element with the id "root".');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={createQueryClient()}>
      <ToastProvider>
        <SessionProvider>
          <RouterProvider router={router} />
        </SessionProvider>
      </ToastProvider>
    </QueryClientProvider>
  </StrictMode>,
);
