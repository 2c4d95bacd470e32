import type { Provider } from 'oidc-provider';
import type { ErrorCode } from '../../core/error-codes.js';
import { toDomainError } from '../../core/to-domain-error.js';
import { html } from '../../platform/pages/html.js';
import { pageMarkup } from '../../platform/pages/send-page.js';

/**
 * Makes the provider answer 503 `temporarily_unavailable` (RFC 6749 §4.1.2.1) with `Retry-After` while a store, or the
 * keys of a trusted issuer, are unavailable. The library would answer 500 `server_error`, which makes clients give up.
 * @param onError receives all other unexpected errors
 */
export function answerOutages(provider: Provider, onError: (error: Error) => void): void {
  const concerned = new WeakSet<object>();
  provider.on('server_error', (ctx, error) => {
    if (OUTAGES.has(toDomainError(error).code)) concerned.add(ctx);
    else onError(error);
  });
  provider.use(async (ctx, next) => {
    await next();
    if (!concerned.has(ctx)) return;
    ctx.status = 503;
    ctx.set('retry-after', '1');
    ctx.body = ctx.response.is('html')
      ? PAGE
      : { error: 'temporarily_unavailable', error_description: 'Retry shortly.' };
  });
}

const OUTAGES: ReadonlySet<ErrorCode> = new Set(['storage_unavailable', 'service_unavailable']);

const PAGE = pageMarkup({
  title: 'The sign-in is temporarily unavailable',
  body: html`<p>Try again shortly.</p>`,
});
