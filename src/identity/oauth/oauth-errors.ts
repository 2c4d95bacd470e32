import type { Configuration, Provider } from 'oidc-provider';
import { html, type Html } from '../../platform/pages/html.js';
import { pageHeaders, pageMarkup } from '../../platform/pages/send-page.js';
import type { ErrorCode } from '../../core/error-codes.js';
import { toDomainError } from '../../core/to-domain-error.js';

/**
 * The page for an authorization request whose client or redirect cannot be trusted, so that it must not be redirected.
 */
export const renderOauthError: NonNullable<Configuration['renderError']> = (
  ctx,
  { error, error_description: detail },
) => {
  ctx.type = 'html';
  ctx.set(pageHeaders());
  const note = html`<p class="note">${error}${detail !== undefined && html`: ${detail}`}</p>`;
  const explanation = detail === NOT_FETCHED ? notFetched(String(ctx.query['client_id'])) : REFUSED;
  ctx.body = pageMarkup({ title: 'This sign-in cannot continue', body: html`${explanation}${note}` });
};

const REFUSED = html`<p>
  The application sent a request that was refused. Start again in the application, or tell its developers:
</p>`;

/** The library's description of a client id metadata document that it could not get. */
const NOT_FETCHED = 'client_id metadata document fetch failed';

function notFetched(clientId: string): Html {
  const host = URL.parse(clientId)?.host ?? clientId;
  return html`<p>
      The application has a document about itself at <strong>${host}</strong>, and this service could not fetch it.
      Start again in the application later.
    </p>
    <p>
      If it fails again, the operator of this service can let it send https requests to ${host}, or set
      <code>OAUTH_CLIENT_DOCUMENTS=off</code>: applications that can register themselves do that instead.
    </p>`;
}

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
