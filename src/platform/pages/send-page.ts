import type { FastifyReply } from 'fastify';
import { FONT_PATH, ICON_PATH, STYLESHEET_PATH } from './face.js';
import { html, type Html } from './html.js';

/** A page of the service. */
interface Page {
  /** The heading, and the title of the window. */
  readonly title: string;
  readonly body: Html;
  /** 200 if omitted. */
  readonly status?: number;
  /**
   * Origins or schemes (`https://client.example`, `cursor:`) that the page's form can redirect to, in addition to the
   * service itself. Chromium applies `form-action` also to the redirect that answers the form.
   */
  readonly formActions?: readonly string[];
}

const LAYOUT_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; base-uri 'none'; frame-ancestors 'none'";
const PURPOSE = 'Agents over plain HTTP. Every call set, seen and recorded.';
/** No character that could end a directive or a header. */
const POLICY_SOURCE = /^[A-Za-z][\w.+-]*:(?:\/\/[\w.:[\]-]+)?$/;

/**
 * Sends a page. It contains no script, loads nothing but the files of the face, is not stored and cannot be
 * framed.
 */
export function sendPage(reply: FastifyReply, { status = 200, formActions = [], ...page }: Page): void {
  void reply.status(status).headers(pageHeaders(formActions)).type('text/html; charset=utf-8').send(pageMarkup(page));
}

/** The headers of a page. @param formActions see `Page.formActions` */
export function pageHeaders(formActions: readonly string[] = []): Record<string, string> {
  const actions = ["'self'", ...formActions.filter((source) => POLICY_SOURCE.test(source))];
  return {
    'content-security-policy': `${LAYOUT_POLICY}; form-action ${actions.join(' ')}`,
    'x-frame-options': 'DENY',
    // The addresses of some pages contain a token.
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  };
}

/** A page as HTML. */
export function pageMarkup({ title, body }: Pick<Page, 'title' | 'body'>): string {
  return layout(title, body).markup;
}

function layout(title: string, body: Html): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>${title} · Signalbox</title>
        <meta property="og:site_name" content="Signalbox" />
        <meta property="og:title" content="${title}" />
        <meta property="og:description" content="${PURPOSE}" />
        <link rel="preload" as="font" type="font/woff2" crossorigin href="${FONT_PATH}" />
        <link rel="stylesheet" href="${STYLESHEET_PATH}" />
        <link rel="icon" type="image/svg+xml" href="${ICON_PATH}" />
      </head>
      <body>
        <header class="panel">
          <p class="brand">Signalbox</p>
          <p class="said">${PURPOSE}</p>
        </header>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html> `;
}
