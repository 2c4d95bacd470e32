import type { Configuration } from 'oidc-provider';
import { html } from '../pages/html.js';
import { pageHeaders, pageMarkup } from '../pages/send-page.js';

/** The page for an authorization request whose client or redirect cannot be trusted, so that it must not be redirected. */
export const renderOauthError: NonNullable<Configuration['renderError']> = (
  ctx,
  { error, error_description: detail },
) => {
  ctx.type = 'html';
  ctx.set(pageHeaders());
  ctx.body = pageMarkup({
    title: 'This sign-in cannot continue',
    body: html`<p>
        The application sent a request that was refused. Start again in the application, or tell its developers:
      </p>
      <p class="note">${error}${detail !== undefined && html`: ${detail}`}</p>`,
  });
};
