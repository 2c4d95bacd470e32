import type { Configuration } from 'oidc-provider';
import { html, type Html } from '../../platform/pages/html.js';
import { pageHeaders, pageMarkup } from '../../platform/pages/send-page.js';

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
